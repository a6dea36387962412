"""Whether memory stays flat, and whether a long run at a high rate is recorded, compacted and judged.

  .venv/bin/python benchmarks/endurance.py [--seconds 600] [--rate 50000] [--library NAME] [--json]

One producer sends to three partitions with three replicas at the rate, with acks=all, idempotence and values of 100
bytes; one reader polls them. Both say how much memory they hold after 1, 5 and 10 million operations. The run ends as
any run does: final reads, compaction, verdict. Then compaction has synthetic histories of the same sizes, each in a
process of its own.

reached     share of the records that the rate asks for which were sent and acknowledged; bar: 0.98
verdict     of the run; bar: valid
worker      resident memory at the last mark / at the first one, for producer and reader; bar: 1.15
compaction  memory above that of the imports, at the last mark / at the one before; bar: 1.15
judging     seconds of the whole run beyond its load, and of a second verdict of the compacted history; no bar

It needs the images of `kafkacheck setup`, Java, two cores and a machine without other load. Its folder for temporary
files (TMPDIR) needs 0.4 KB for each record that is sent, and the engine 0.5 KB: 30 GB for the default. To try it:
--seconds 10 --rate 2000 --marks 5000 10000
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.compaction import measure
from benchmarks.histories import Shape, write_segments
from benchmarks.prerequisites import require_images, require_java
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog
from workloads.roles.context import WorkerContext
from workloads.roles.producer import produce
from workloads.roles.reader import read
from workloads.workload import WorkerSpec

MARKS = [1_000_000, 5_000_000, 10_000_000]
ENOUGH, FLAT = 0.98, 1.15
SIZE = 100
INTERVAL = 0.2
"""Seconds between two samples of a worker's memory."""

SAMPLED = {"producer": "acks", "reader": "polled"}
"""Role, and the counter of its operations."""


def produce_sampled(context: WorkerContext) -> None:
    _sampling(context)
    produce(context)


def read_sampled(context: WorkerContext) -> None:
    _sampling(context)
    read(context)


def _sampling(context: WorkerContext) -> None:
    """Append the count of operations and the bytes of resident memory to a file, time and again."""

    def sample() -> None:
        with samples_of(context.home, context.role).open("w") as file:
            while not context.stop.wait(INTERVAL):
                file.write(f"{context.counts[SAMPLED[context.role]]} {_resident()}\n")
                file.flush()

    threading.Thread(target=sample, daemon=True).start()


def _resident() -> int:
    (line,) = (
        each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmRSS")
    )
    return int(line.split()[1]) << 10


def samples_of(home: Path, role: str) -> Path:
    return home / f"memory-{role}.txt"


@dataclass(frozen=True, kw_only=True)
class Endured(AppendLog):
    """Its producer and its reader sample their memory."""

    producers: int = 1
    readers: int = 1
    sessions: int = 0
    record_size: Any = SIZE

    def workers(self) -> tuple[WorkerSpec, ...]:
        functions = {"producer": produce_sampled, "reader": read_sampled}
        return tuple(
            replace(each, role=replace(each.role, function=functions[each.role.name]))
            if each.role.name in functions
            else each
            for each in super().workers()
        )


def memory_at(home: Path, role: str, marks: list[int]) -> list[int]:
    """Bytes of a worker when it had counted so many operations. Raises SystemExit if it never did."""
    samples = [tuple(map(int, line.split())) for line in samples_of(home, role).read_text().splitlines()]
    found = [next((memory for count, memory in samples if count >= mark), None) for mark in marks]
    if None in found:
        most = max((count for count, _ in samples), default=0)
        raise SystemExit(f"The {role} counted {most:,} operations, and the last mark is {marks[-1]:,}.")
    return [memory for memory in found if memory is not None]


def run_it(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    workload = Endured(library=options.library, rate=options.rate, topic_config={"min.insync.replicas": 2})
    experiment = Experiment(workload=workload, duration=options.seconds, cooldown=0)
    with Harness(folder, say=print if not options.json else lambda _: None) as harness:
        with harness.cluster(experiment.cluster, logs=folder):
            begun = time.monotonic()
            run = harness.run(experiment)
            whole = time.monotonic() - begun
        begun = time.monotonic()
        harness.judge(run.path)
        again = time.monotonic() - begun
    phases = run.verdict.availability.phases
    acknowledged = sum(each.sends - each.errors for each in phases)
    return {
        "acknowledged": acknowledged,
        "reached": acknowledged / sum(each.sends + (each.skipped or 0) for each in phases),
        "verdict": run.verdict.result,
        "seconds_beyond_the_load": whole - options.seconds,
        "seconds_of_a_second_verdict": again,
        "worker_bytes": {role: memory_at(run.path, role, options.marks) for role in SAMPLED},
    }


def compactions(marks: list[int], folder: Path) -> list[int]:
    """Bytes above those after the imports, for a history of each size."""
    peaks = []
    for records in marks:
        source = folder / f"source-{records}"
        write_segments(Shape(records=records), source)
        measured = measure("compact", source)
        peaks.append(measured.peak - measured.before)
    return peaks


def bars(found: dict[str, Any]) -> dict[str, bool]:
    workers, peaks = found["worker_bytes"], found["compaction_bytes"]
    return {
        "reached": found["reached"] >= ENOUGH,
        "verdict": found["verdict"] == "valid",
        **{f"{role}": of[-1] <= FLAT * of[0] for role, of in workers.items()},
        "compaction": peaks[-1] <= FLAT * peaks[-2],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=50_000)
    parser.add_argument("--library", default="confluent-kafka")
    parser.add_argument("--marks", type=int, nargs="+", default=MARKS, help="operations; two or more")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if len(options.marks) < 2 or sorted(options.marks) != options.marks:
        parser.error(f"--marks {options.marks}: expected two or more numbers in rising order")
    require_java()
    require_images([ClusterSpec().version])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = run_it(options, folder)
        found["compaction_bytes"] = compactions(options.marks, folder)
    held = bars(found)
    if options.json:
        print(json.dumps({**found, "marks": options.marks, "bars": held}, indent=2))
    else:
        _print(found, held, options.marks)
    return 0 if all(held.values()) else 1


def _print(found: dict[str, Any], held: dict[str, bool], marks: list[int]) -> None:
    table = Table("MB after operations", *(f"{mark:,}" for mark in marks), "last / first", box=None)
    for name, of in {**found["worker_bytes"], "compaction": found["compaction_bytes"]}.items():
        table.add_row(name, *(f"{each / 1e6:,.0f}" for each in of), f"{of[-1] / of[0]:.2f}")
    Console(width=120).print(table)
    print(f"{found['acknowledged']:,} records acknowledged, {found['reached']:.3f} of the rate;", end=" ")
    print(f"verdict {found['verdict']}")
    print(f"{found['seconds_beyond_the_load']:.1f} s beyond the load;", end=" ")
    print(f"{found['seconds_of_a_second_verdict']:.1f} s for a second verdict")
    for name, is_held in held.items():
        print(f"{name}: {'held' if is_held else 'missed'}")


if __name__ == "__main__":
    # The classes of the run have to be importable by the workers, which know this file as a module.
    from benchmarks.endurance import main as imported_main

    raise SystemExit(imported_main())
