"""How long the verdict on a small history takes: cold, warm, and by the daemon.

`benchmarks/together.py` measures 2,000 in one call.

  .venv/bin/python benchmarks/small.py [--rounds 5] [--only cold warm daemon] [--json]

cold  a new process until the verdict on a history of 1,000 operations / a new process that only opens the session,
      with the same flags of the JVM; medians of alternating rounds; at most 1.3. `cpu` is the same ratio of processor
      seconds, which other processes disturb less. `least` is the same ratio for a process that only counts the
      records by run: no verdict with Spark can take less.
daemon  `kafkacheck analyze` and `kafkacheck explain`, processes whose work the daemon does / those of --no-daemon;
      medians of alternating rounds after one that starts it; the figure is the larger ratio; at most 0.6
warm  seconds of a verdict minus those of a query over no rows, in one session; at most 0.5 s

Needs Java, and `kafkacheck setup` for the quick start of Spark (docs/spark.md): without it all starts are
slower.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_java
from workloads.history import parquet
from workloads.history.row_copy import write_copy
from workloads.history.schema import TABLES

BARS = {"cold": 1.3, "warm": 0.5, "daemon": 0.6}
OPERATIONS, FEW = 1000, 50
BARE = "from analyzers.spark.session import spark_session; spark_session()"
LEAST = (
    "import sys; from pathlib import Path; from analyzers.spark.session import spark_session;"
    "spark = spark_session();"
    "from analyzers.history.load import load; from analyzers.history.sources import sources;"
    "history = load(spark, sources(spark, [Path(sys.argv[1])]));"
    "history.sql('select run, count(*) from {records} group by run').collect()"
)
VERDICT = (
    "import sys; from pathlib import Path; from analyzers.spark.session import spark_session;"
    "spark = spark_session();"
    "from analyzers.judge.analyze import analyze; (verdict,) = analyze(spark, [Path(sys.argv[1])]).values();"
    "assert verdict.result == 'valid', verdict.text()"
)


def rows(run: str, operations: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A healthy run: half of the operations are sends of two writers, half are records of the final reads."""
    partitions, ends = 2, [0, 0]
    written: list[list[int]] = [[], []]
    for i in range(operations // 2):
        writer, sequence = i % 2 + 1, i // 2
        partition = sequence % partitions
        value, offset = writer << 40 | sequence, ends[partition]
        last = offset - 2 if offset >= 2 else None
        row = {"run": run, "f": "send", "op": value, "index": sequence, "process": writer, "type": "ok"}
        row |= {"invoked": i * 1000, "completed": i * 1000 + 900, "topic": "t", "partition": partition}
        before = {"previous": last, "within": None if last is None else False}
        yield "records", row | {"offset": offset, "value": value, "assignment": 0, **before}
        written[partition].append(value)
        ends[partition] += 1
    over = operations * 1000
    for partition, values in enumerate(written):
        op = (1 << 62) + partition
        row = {"run": run, "op": op, "process": 10, "type": "ok", "invoked": over, "completed": over + 9}
        row |= {"topic": "t", "partition": partition}
        for offset, value in enumerate(values):
            read = {"f": "poll", "index": offset, "offset": offset, "value": value, "final": True}
            before = {"previous": offset - 1, "within": True} if offset else {}
            yield "records", row | read | {"assignment": 1, **before}
        yield "operations", row | {"f": "final-read", "start_offset": 0, "end_offset": len(values)}


def write(folder: Path, run: str, operations: int) -> Path:
    by_table: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    for table, row in rows(run, operations):
        by_table[table].append(row)
    for table, of in by_table.items():
        place = folder / run / "history" / table
        place.mkdir(parents=True)
        rows_of = pa.Table.from_pylist(of, schema=TABLES[table])
        parquet.write(place / "part-0.parquet", [rows_of], TABLES[table])
    write_copy(folder / run / "history")  # as compaction does
    return folder / run


def cold(folder: Path, rounds: int) -> dict[str, Any]:
    run = write(folder, "cold", OPERATIONS)
    calls = {
        name: [sys.executable, "-c", program, str(run)]
        for name, program in {"bare": BARE, "least": LEAST, "verdict": VERDICT}.items()
    }
    walls: dict[str, list[float]] = {name: [] for name in calls}
    cpus: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            used, began = _children(), time.monotonic()
            subprocess.run(call, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
            walls[name].append(time.monotonic() - began)
            cpus[name].append(_children() - used)
    medians = {name: statistics.median(of) for name, of in walls.items()}
    used_cpu = {name: statistics.median(of) for name, of in cpus.items()}
    return {
        "figure": medians["verdict"] / medians["bare"],
        "cpu": used_cpu["verdict"] / used_cpu["bare"],
        "least": medians["least"] / medians["bare"],
        "seconds": medians,
        "spread": walls,
    }


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def warm(folder: Path, rounds: int) -> dict[str, Any]:
    from analyzers.judge.analyze import analyze

    spark = _session()
    run = write(folder, "warm", OPERATIONS)
    found = _alternating(
        {
            "empty": lambda: spark.range(0).selectExpr("count(*)").collect(),
            "verdict": lambda: analyze(spark, [run]),
        },
        rounds,
    )
    return {"figure": found["verdict"] - found["empty"], "seconds": found}


def daemon(folder: Path, rounds: int) -> dict[str, Any]:
    run = write(folder, "daemon", OPERATIONS)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_RUNTIME_DIR": str(folder),
        "KAFKACHECK_DAEMON": "yes",
    }

    def command(*arguments: str) -> Callable[[], object]:
        call = [sys.executable, "-m", "pytest_kafkacheck", *arguments]
        return lambda: subprocess.run(
            call, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    try:
        found = _alternating(
            {
                "analyze": command("analyze", str(run)),
                "analyze alone": command("analyze", str(run), "--no-daemon"),
                "explain": command("explain", str(run), "lost-write"),
                "explain alone": command("explain", str(run), "lost-write", "--no-daemon"),
            },
            rounds,
        )
    finally:
        command("daemon", "--stop")()
    ratios = [found[name] / found[f"{name} alone"] for name in ("analyze", "explain")]
    return {"figure": max(ratios), "seconds": found}


def _session() -> Any:
    from analyzers.judge.warm_up import warm_up
    from analyzers.spark.session import spark_session

    spark = spark_session()
    warm_up(spark)
    return spark


def _alternating(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Medians in seconds. The first round only warms up."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            began = time.monotonic()
            call()
            found[name].append(time.monotonic() - began)
    return {name: statistics.median(of[1:]) for name, of in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=BARS, default=list(BARS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    require_java()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        measures = {
            "cold": lambda: cold(folder, options.rounds),
            "warm": lambda: warm(folder, options.rounds),
            "daemon": lambda: daemon(folder, options.rounds),
        }
        results = {name: measures[name]() for name in options.only}
    if options.json:
        print(json.dumps(results, indent=2))
        return
    table = Table("history", "figure", "bar", "cpu ratio", "at least", "seconds", box=None)
    for name, found in results.items():
        seconds = ", ".join(f"{what} {value:.2f}" for what, value in found["seconds"].items())
        more = [f"{found[what]:.2f}" if what in found else "" for what in ("cpu", "least")]
        table.add_row(name, f"{found['figure']:.2f}", f"{BARS[name]}", *more, seconds)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
