"""How long the verdicts on several runs in one call take, as ratios to the verdict on one of them.

  .venv/bin/python benchmarks/together.py [--only many ten] [--run RUN] [--runs 2000] [--rounds 5]
                                          [--before CHECKOUT] [--json]

many  2,000 histories of 50 operations / one of them, in one session; at most 4
ten   ten recorded runs / one of them, in one session; at most 2

RUN is the folder of a recorded run, which is copied under ten ids. Without it, a run of 20 s with some 3,000 records
is recorded, on a cluster of three brokers with one isolated leader. Besides seconds, processor seconds of Python and
the JVM are compared: other processes disturb these less. --before measures the code of another checkout as well.

Needs Java, and to record a run the images of `kafkacheck setup`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.ordinary import compacted, record, rows
from benchmarks.prerequisites import require_images, require_java
from benchmarks.small import FEW, write
from workloads.history import parquet

BARS = {"many": 4.0, "ten": 2.0}
SMALL = 1_000
"""Sends and polls of the run that is recorded, about; see `benchmarks.ordinary.record`."""
WARM_UP = 2
"""Rounds that are not counted."""


def copies(run: Path, folder: Path, number: int) -> list[Path]:
    """A compacted run under other ids, so that all copies can be judged in one call."""
    homes = [folder / f"run-{each}" for each in range(number)]
    for file in (run / "history").glob("*/*.parquet"):
        table = pq.ParquetFile(file).read()
        at = table.schema.get_field_index("run")
        for home in homes:
            renamed = table.set_column(at, "run", pa.repeat(pa.scalar(home.name), len(table)))
            place = home / "history" / file.parent.name
            place.mkdir(parents=True, exist_ok=True)
            parquet.write(place / file.name, [renamed], table.schema)
    return homes


def measure(folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Of the verdict on one run of the folder and of that on all: seconds, and processor seconds (`cpu`)."""
    from analyzers.judge.analyze import analyze
    from analyzers.judge.warm_up import warm_up
    from analyzers.spark.session import fit, spark_session
    from analyzers.spark.settings import size_of

    runs = sorted(folder.iterdir())
    records = [rows(run) for run in runs]
    spark = spark_session(size=size_of(sum(records)))
    warm_up(spark)
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(WARM_UP + rounds):
        for name, some in {"one": runs[:1], "all": runs}.items():
            fit(spark, sum(records[: len(some)]))  # as the command does
            began, used = time.monotonic(), _processor_seconds()
            analyze(spark, some)
            spent = time.monotonic() - began, _processor_seconds() - used
            found.setdefault(name, []).append(spent)
    return {
        name: {
            what: statistics.median(each[at] for each in of[WARM_UP:]) for at, what in enumerate(("s", "cpu"))
        }
        for name, of in found.items()
    }


def _processor_seconds() -> float:
    """Of this process and of its JVM."""
    here = psutil.Process()
    times = [each.cpu_times() for each in (here, *here.children())]
    return sum(each.user + each.system for each in times)


def _in_process(checkout: Path, folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Measure the code of a checkout in a new process."""
    call = [sys.executable, __file__, "--measure", str(folder), "--rounds", str(rounds)]
    done = subprocess.run(
        call, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(checkout)}
    )
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _recorded(run: Path | None, scratch: Path) -> Path:
    if run is None:
        from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

        require_images([ClusterSpec().version])
        run = record(scratch, SMALL)
    return compacted(run, scratch)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=BARS, default=list(BARS))
    parser.add_argument("--run", type=Path)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = _options()
    if options.measure:
        print(json.dumps(measure(options.measure, options.rounds)))
        return
    require_java()
    checkouts = {"now": Path(__file__).parents[1]}
    if options.before:
        checkouts = {"before": options.before.resolve(), **checkouts}
    results: dict[str, Any] = {}
    for name in options.only:
        with tempfile.TemporaryDirectory() as temporary:
            scratch, folder = Path(temporary), Path(temporary) / "runs"
            if name == "many":
                for number in range(options.runs):
                    write(folder, f"run-{number}", FEW)
            else:
                copies(_recorded(options.run, scratch), folder, 10)
            results[name] = {
                of: _in_process(checkout, folder, options.rounds) for of, checkout in checkouts.items()
            }
    if options.json:
        print(json.dumps(results, indent=2))
        return
    table = Table(
        "runs", "code", "ratio", "bar", "one, s", "all, s", "cpu ratio", "one, cpu", "all, cpu", box=None
    )
    for name, by_checkout in results.items():
        for of, found in by_checkout.items():
            cells = []
            for what in ("s", "cpu"):
                one, all_runs = found["one"][what], found["all"][what]
                cells += [f"{all_runs / one:.2f}", f"{one:.2f}", f"{all_runs:.2f}"]
            table.add_row(name, of, cells[0], f"{BARS[name]:g}", *cells[1:])
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
