"""How exactly a schedule is carried out, and whether it shows what it is meant to show.

  .venv/bin/python benchmarks/schedule.py [--runs 10] [--json]

The schedule has seven events. A trigger waits while a broker is paused and while another one is cut off, and the ISR
that it waits for shrinks only while the leader cannot replicate: an event that is late by seconds makes the run show
nothing. Unclean elections are allowed, and min.insync.replicas is 1, so acknowledged writes must be lost.

late    s by which actions began after their time: the median and the worst of all runs (bar of the worst: 0.1)
held    s from the beginning of each fault to the beginning of its heal, less what the schedule says: the worst
found   runs with lost writes (bar: 9 of 10)

It needs the images of `kafkacheck setup`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_images
from pytest_kafkacheck import AppendLog, Experiment, cpu, cut_clients, kill, partition, pause, reset
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from workloads.history.schema import NEMESIS

LATE_S, FOUND = 0.1, 0.9

FAULTS = (
    cut_clients("follower", at=1, lasting=2),
    pause("controller", at=4, lasting=2),
    reset("one", at=7),
    partition("leader", plane="replication", at=8, lasting=7),
    kill("leader", after="isr-shrink", at=2, lasting=10),
    cpu("follower", at=24, lasting=3, cores=0.3),
    pause("follower", at=29, lasting=2),
)
LASTING = {f"{event.fault.name}-{number}": event.lasting for number, event in enumerate(FAULTS)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    require_images([ClusterSpec().version])
    settings = {"min.insync.replicas": 1, "unclean.leader.election.enable": True}
    experiment = Experiment(
        name="schedule",
        workload=AppendLog(partitions=1, topic_config=settings),
        faults=FAULTS,
        expect="invalid",
    )
    late: dict[str, list[float]] = {}
    held: dict[str, list[float]] = {}
    found = 0
    with tempfile.TemporaryDirectory() as folder, Harness(Path(folder), say=_progress) as harness:
        for _ in range(options.runs):
            run = harness.run(experiment)
            found += any(each.anomaly == "lost-write" for each in run.verdict.findings)
            for event, stages in actions(run.path).items():
                for stage, (planned, invoked) in stages.items():
                    late.setdefault(f"{event} {stage}", []).append(invoked - planned)
                if LASTING[event] and len(stages) == 2:
                    lasted = stages["heal"][1] - stages["inject"][1]
                    held.setdefault(event, []).append(lasted - LASTING[event])
    worst = max(max(each) for each in late.values())
    results = {
        "late_worst_s": worst,
        "late_median_s": statistics.median(value for each in late.values() for value in each),
        "held_worst_s": max((max(map(abs, each)) for each in held.values()), default=0.0),
        "late_by_action_s": {name: max(each) for name, each in sorted(late.items())},
        "found": found,
        "runs": options.runs,
    }
    met = worst <= LATE_S and found >= FOUND * options.runs
    if options.json:
        sys.stdout.write(json.dumps(results | {"met": met}) + "\n")
    else:
        _print(results)
    return 0 if met else 1


def actions(run: Path) -> dict[str, dict[str, tuple[float, float]]]:
    """By event and stage: when it was due and when it began, in seconds. Without actions that had no time."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in _operations(RunDirectory(run).history):
        value = json.loads(row["value"])
        if "planned" in value:
            stages = found.setdefault(value["event"], {})
            stages[value["stage"]] = value["planned"] / 1e9, row["invoked"] / 1e9
    return found


def _operations(history: Path) -> Iterator[dict[str, Any]]:
    for file in sorted((history / "operations").glob("*.parquet")):
        yield from pq.read_table(file, filters=[("process", "=", NEMESIS)]).to_pylist()


def _progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _print(results: dict[str, Any]) -> None:
    table = Table("action", "worst lateness, s")
    for name, seconds in results["late_by_action_s"].items():
        table.add_row(name, f"{seconds:.3f}")
    console = Console()
    console.print(table)
    console.print(
        f"late: median {results['late_median_s']:.3f} s, worst {results['late_worst_s']:.3f} s (bar {LATE_S}); "
        f"held: worst {results['held_worst_s']:.3f} s off; "
        f"losses found in {results['found']} of {results['runs']} runs (bar {FOUND:.0%})"
    )


if __name__ == "__main__":
    sys.exit(main())
