"""How much longer the verdict on a badly broken run takes than that on a healthy one of the same size.

  .venv/bin/python benchmarks/findings.py [--records 4000000] [--rounds 3] [--before CHECKOUT] [--json]

The final reads of the broken run lack every second record, so there are about half as many findings as records: lost
writes, and steps over them. Both runs are judged in turn in one session (`local[2]`, 2 GB of heap); medians of all
rounds but the first. --before measures the code of another checkout as well, which must find the same.

Needs Java.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from checkouts import measured_by, processor_seconds  # of this folder: the checkout may have no such module
from rich.console import Console
from rich.table import Table

from benchmarks.histories import Shape, write_compacted
from benchmarks.prerequisites import require_java


def measure(runs: dict[str, Path], records: int, rounds: int) -> dict[str, Any]:
    """By run: wall-clock and processor seconds, and the counts and the first examples of every anomaly."""
    from analyzers.judge.analyze import analyze
    from analyzers.spark.session import fit, spark_session
    from analyzers.spark.settings import size_of

    spark = spark_session(size=size_of(records), heap="2g", master="local[2]")
    fit(spark, records)
    walls: dict[str, list[float]] = {name: [] for name in runs}
    cpus: dict[str, list[float]] = {name: [] for name in runs}
    found: dict[str, Any] = {}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            used, began = processor_seconds(), time.monotonic()
            (verdict,) = analyze(spark, [run], strict=True).values()
            walls[name].append(time.monotonic() - began)
            cpus[name].append(processor_seconds() - used)
            data = json.loads(verdict.to_json())
            found[name] = [data["findings"], data["causes"]]
    return {
        name: {
            "wall": statistics.median(walls[name][1:]),
            "cpu": statistics.median(cpus[name][1:]),
            "found": found[name],
        }
        for name in runs
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    kinds = {"healthy": 0, "broken": 2}
    if options.measure:
        runs = {name: options.measure / name for name in kinds}
        print(json.dumps(measure(runs, options.records, options.rounds)))
        return
    require_java()
    checkouts = {"before": options.before.resolve()} if options.before else {}
    checkouts["now"] = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        for name, lost_one in kinds.items():
            write_compacted(Shape(records=options.records, lost_one=lost_one), Path(folder) / name)
        sizes = ["--records", str(options.records), "--rounds", str(options.rounds)]
        results = {
            name: measured_by(checkout, __file__, "--measure", folder, *sizes)[1]
            for name, checkout in checkouts.items()
        }
    everything = [[each[kind]["found"] for kind in kinds] for each in results.values()]
    assert all(found == everything[0] for found in everything), "the checkouts differ in what they find"
    findings = {each["anomaly"]: each["count"] for each in results["now"]["broken"]["found"][0]}
    figures = {
        name: {
            **{f"{kind}, {what}": each[kind][what] for kind in kinds for what in ("wall", "cpu")},
            "ratio": each["broken"]["wall"] / each["healthy"]["wall"],
            "ratio of cpu": each["broken"]["cpu"] / each["healthy"]["cpu"],
        }
        for name, each in results.items()
    }
    if options.json:
        print(json.dumps({"findings": findings, "figures": figures}, indent=2))
        return
    table = Table(f"findings {findings}", *figures, box=None)
    for what in figures["now"]:
        table.add_row(what, *(f"{each[what]:.2f}" for each in figures.values()))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
