"""How long the verdict on an ordinary run takes, from 1,000 to 3 million records of real clients.

  .venv/bin/python benchmarks/ordinary.py [--histories DIRECTORY] [--sizes 1000 ... 3000000] [--rounds 5]
                                          [--only sizes warm session cold] [--before CHECKOUT] [--json]

sizes    seconds of a verdict, and microseconds per record, for each size, in one warm session per size. From 10,000
         records on, the seconds per record must not rise.
warm     the verdict on 100,000 records in a warm session / DuckDB with plain queries for most of the checks, in the
         same process; medians of alternating rounds; at most 5
session  seconds from the segments on disk to the verdict, as in a test session: the first run, and later ones; at
         most 2.5 and 1.5
cold     `kafkacheck analyze` of 100,000 records / the project's own bare session (at most 2.5, goal 2), and / a plain
         Spark session that counts one row (at most 0.75)

Histories are recorded by runs on a cluster of three brokers with one isolated leader; DIRECTORY keeps them for other
calls. --before measures the code of another checkout as well, in the same rounds: its rows are named `before`.

Needs the images and the quick start of `kafkacheck setup`, and for `warm` ``pip install duckdb==2.0.0``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_images, require_java, require_package

SIZES = (1_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
ORDINARY = 100_000
LEVEL_FROM = 10_000
ROWS_PER_SEND = 4
"""The send, two readers, and the final read."""

FASTEST = 4_000
"""Sends per second of all clients that two cores reach beside three brokers."""

BARS = {"warm": 5.0, "first": 2.5, "later": 1.5, "cold / bare": 2.5, "cold / plain Spark": 0.75}
BARE = "from analyzers.spark.session import spark_session; spark_session()"
PLAIN = (
    "from pyspark.sql import SparkSession;"
    "spark = SparkSession.builder.master('local[*]').config('spark.ui.enabled', False).getOrCreate();"
    "assert spark.range(1).count() == 1; spark.stop()"
)


def record(folder: Path, size: int) -> Path:
    """A run of about that many records, with its segments as the clients have left them."""
    from pytest_kafkacheck import AppendLog, Experiment, isolate
    from pytest_kafkacheck.experiment.execution import execute
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.experiment.run_directory import RunDirectory

    seconds = max(20.0, size / ROWS_PER_SEND / FASTEST)
    workload = AppendLog(rate=size / ROWS_PER_SEND / seconds / 2, topic_config={"min.insync.replicas": 2})
    faults = [isolate("leader", at=seconds / 3, lasting=seconds / 3)]
    experiment = Experiment(name=f"of-{size}", workload=workload, faults=faults, cooldown=seconds / 3)
    with (
        Harness(folder, say=_progress) as harness,
        harness.cluster(experiment.cluster, logs=folder) as cluster,
    ):
        home = RunDirectory.create(folder, name=f"of-{size}", run="recorded")
        home.write_experiment(experiment)
        execute(experiment, cluster, run="recorded", home=home.path, say=_progress, stop=threading.Event())
    return home.path


def compacted(recorded: Path, folder: Path) -> Path:
    """A copy of the run as compaction leaves it."""
    from workloads.history.compaction.compact import compact

    run = Path(shutil.copytree(recorded, folder / f"compacted-{recorded.name}"))
    compact(run)
    return run


def rows(run: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in (run / "history" / "records").glob("*.parquet"))


def measure_warm(run: Path, rounds: int) -> dict[str, Any]:
    """Seconds of the verdict and of DuckDB in a session that has judged this history four times."""
    from analyzers.judge.analyze import analyze
    from analyzers.judge.warm_up import warm_up
    from analyzers.spark.session import fit, spark_session
    from analyzers.spark.settings import size_of
    from benchmarks.plain import counts

    number = rows(run)
    spark = spark_session(size=size_of(number))
    warm_up(spark)
    fit(spark, number)
    calls: dict[str, Callable[[], object]] = {"verdict": lambda: analyze(spark, [run])}
    if rounds > 3:
        calls["duckdb"] = lambda: counts(run, threads=2)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(4 + rounds):
        for name, call in calls.items():
            began = time.monotonic()
            call()
            seconds[name].append(time.monotonic() - began)
    return {"records": number, "first": seconds["verdict"][0]} | {
        name: statistics.median(of[4:]) for name, of in seconds.items()
    }


def measure_session(recorded: Path, rounds: int) -> dict[str, Any]:
    """Seconds from the segments to the verdict in one harness, which had the time of a load to start Spark."""
    from pytest_kafkacheck.experiment.harness import Harness

    seconds = []
    with tempfile.TemporaryDirectory() as scratch, Harness(Path(scratch)) as harness:
        harness._spark.start(expected=ORDINARY)  # a run knows it from its rate and its schedule
        harness._spark.session()
        for number in range(rounds):
            run = Path(shutil.copytree(recorded, Path(scratch) / f"run-{number}" / recorded.name))
            began = time.monotonic()
            harness.judge(run)
            seconds.append(time.monotonic() - began)
    return {"first": seconds[0], "second": seconds[1], "later": statistics.median(seconds[2:])}


MEASURES = {"warm": measure_warm, "session": measure_session}


def _in_process(checkout: Path, measure: str, run: Path, rounds: int) -> dict[str, Any]:
    """Measure the code of a checkout in a new process."""
    call = [sys.executable, __file__, "--measure", measure, str(run), "--rounds", str(rounds), "--json"]
    answer = subprocess.run(call, check=True, capture_output=True, text=True, env=_env(checkout))
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def _seconds(checkout: Path, *call: str) -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, *call], check=True, stdout=subprocess.DEVNULL, env=_env(checkout))
    return time.monotonic() - began


def _env(checkout: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(checkout)}


def sizes(recorded: dict[int, Path], checkouts: dict[str, Path], rounds: int, scratch: Path) -> Table:
    table = Table(
        "records", *(f"{name}: {what}" for name in checkouts for what in ("s", "first, s", "µs/record"))
    )
    for path in recorded.values():
        run = compacted(path, scratch)
        cells = []
        for checkout in checkouts.values():
            found = _in_process(checkout, "warm", run, min(rounds, 3))
            each = found["verdict"] / found["records"] * 1e6
            cells += [f"{found['verdict']:.2f}", f"{found['first']:.2f}", f"{each:.1f}"]
        table.add_row(f"{rows(run):,}", *cells)
        shutil.rmtree(run)
    return table


def ordinary(
    recorded: Path, checkouts: dict[str, Path], rounds: int, only: list[str], scratch: Path
) -> dict[str, dict[str, float]]:
    """By what was measured and by checkout."""
    found: dict[str, dict[str, float]] = {}
    run = compacted(recorded, scratch)
    for name, checkout in checkouts.items():
        if "warm" in only:
            warm = _in_process(checkout, "warm", run, max(4, rounds))
            found.setdefault("warm", {})[name] = warm["verdict"] / warm["duckdb"]
            found.setdefault("warm, s", {})[name] = warm["verdict"]
        if "session" in only:
            for which, seconds in _in_process(checkout, "session", recorded, max(4, rounds)).items():
                found.setdefault(which, {})[name] = seconds
    if "cold" in only:
        for figure, by_checkout in _cold(run, checkouts, rounds).items():
            found[figure] = by_checkout
    return found


def _cold(run: Path, checkouts: dict[str, Path], rounds: int) -> dict[str, dict[str, float]]:
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in checkouts}
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            for what, call in {
                "bare": ("-c", BARE),
                "plain Spark": ("-c", PLAIN),
                "cold": ("-m", "pytest_kafkacheck", "analyze", str(run)),
            }.items():
                seconds[name].setdefault(what, []).append(_seconds(checkout, *call))
    medians = {
        name: {what: statistics.median(of) for what, of in each.items()} for name, each in seconds.items()
    }
    return {
        "cold / bare": {name: each["cold"] / each["bare"] for name, each in medians.items()},
        "cold / plain Spark": {name: each["cold"] / each["plain Spark"] for name, each in medians.items()},
        "cold, s": {name: each["cold"] for name, each in medians.items()},
    }


def _progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=Path, help="where recorded runs are, or are to be kept")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parts = ("sizes", "warm", "session", "cold")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "RUN"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = _options()
    if options.measure:
        what, run = options.measure
        print(json.dumps(MEASURES[what](Path(run), options.rounds)))
        return
    require_java()
    if "warm" in options.only:
        require_package("duckdb", version="2.0.0", purpose="The comparison with DuckDB")
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        folder = options.histories or scratch / "histories"
        wanted = options.sizes if "sizes" in options.only else []
        recorded = {}
        for size in sorted({*wanted, ORDINARY} if {*options.only} - {"sizes"} else set(wanted)):
            (home,) = list(folder.glob(f"*of-{size}-*")) or [None]
            if home is None:
                require_images([_version()])
                folder.mkdir(parents=True, exist_ok=True)
                home = record(folder, size)
            recorded[size] = home
        checkouts = {"now": Path(__file__).parents[1]}
        if options.before:
            checkouts = {"before": options.before.resolve(), **checkouts}
        console = Console(width=140)
        if set(options.only) - {"sizes"}:
            found = ordinary(recorded[ORDINARY], checkouts, options.rounds, options.only, scratch)
            if options.json:
                print(json.dumps(found))
            else:
                table = Table("ordinary run", *checkouts, "bar")
                for what, figures in found.items():
                    cells = [f"{figures[name]:.2f}" for name in checkouts]
                    table.add_row(what, *cells, str(BARS.get(what, "")))
                console.print(table)
        if "sizes" in options.only:
            console.print(
                sizes({size: recorded[size] for size in wanted}, checkouts, options.rounds, scratch)
            )


def _version() -> str:
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    return ClusterSpec().version


if __name__ == "__main__":
    main()
