"""Where the time of a scenario goes, from a new process to the verdict, and of a second one in the same session.

  .venv/bin/python benchmarks/scenario.py [--rounds 3] [--before CHECKOUT] [--json]
  .venv/bin/python benchmarks/scenario.py --tests 10 [--json]

The scenario: three brokers, the clients of `AppendLog`, and a leader isolated from second 3 to second 11 of the load.
The parts, in seconds:

boot         from the start of the process, or of the second test, to a cluster that serves
first ack    from there, with the creation of the topic; at most 1
load         until the schedule begins
schedule     its own 11 s, and its lateness
after        recovery, cooldown, and the end of the clients
final reads
verdict
above        all of them without the schedule's own seconds; at most 14 in the first test, 8 in the second

--before measures the code of another checkout as well, in turns. --tests runs pytest on a file with so many tests on
one cluster, in each of which the leader is isolated for 10 s, and prints the seconds of the session, of the first
test, and of each later one: the median, and what of it is above the schedule. Needs the images and the quick start of
`kafkacheck setup`.
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
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.prerequisites import require_images, require_java

AT, LASTING = 3, 8
OWN = AT + LASTING
BARS = {"first": 14.0, "second": 8.0}
FIRST_ACK = 1.0


def scenario(folder: Path, began: int) -> dict[str, dict[str, float]]:
    """Run it twice in one session. began: when this process was started, ns of the monotonic clock."""
    from pytest_kafkacheck import AppendLog, Experiment, isolate
    from pytest_kafkacheck.experiment.harness import Harness

    workload = AppendLog(topic_config={"min.insync.replicas": 2})
    experiment = Experiment(workload=workload, faults=[isolate("leader", at=AT, lasting=LASTING)])
    found = {}
    with Harness(folder, say=lambda line: sys.stderr.write(f"{line}\n")) as harness:
        for which in BARS:
            run = harness.run(experiment)
            found[which] = split(run.path, began, time.monotonic_ns())
            began = time.monotonic_ns()
    return found


TESTS = """
import pytest
from pytest_kafkacheck import AppendLog, Experiment, isolate

@pytest.mark.parametrize("number", range({tests}))
def test_it(kafkacheck, number):
    workload = AppendLog(topic_config={{"min.insync.replicas": 2}})
    kafkacheck(Experiment(workload=workload, faults=[isolate("leader", at={at}, lasting={lasting})])).assert_valid()
"""

TEST_LASTING = 10
"""Seconds for which the leader is isolated in each of these tests."""


def session(tests: int) -> dict[str, float]:
    """Seconds of a session of pytest with so many tests, and of its tests."""
    with tempfile.TemporaryDirectory() as folder:
        file, report = Path(folder, "test_it.py"), Path(folder, "report.xml")
        file.write_text(TESTS.format(tests=tests, at=AT, lasting=TEST_LASTING))
        call = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", str(file)]
        began = time.monotonic()
        subprocess.run(call, check=True, stdout=sys.stderr, cwd=folder)
        whole = time.monotonic() - began
        first, *later = (float(case.attrib["time"]) for case in ElementTree.parse(report).iter("testcase"))
    each = statistics.median(later)
    return {"session": whole, "first test": first, "later test": each, "above": each - AT - TEST_LASTING}


def split(home: Path, began: int, ended: int) -> dict[str, float]:
    """Seconds by part."""
    operations = _table(home, "operations", ["f", "type", "invoked", "value"])
    records = _table(home, "records", ["f", "type", "completed"])
    phases = {json.loads(row["value"])["phase"]: row["invoked"] for row in operations if row["f"] == "phase"}
    times = [
        began,
        min(row["invoked"] for row in operations if row["f"] == "topic"),
        min(row["completed"] for row in records if row["f"] == "send" and row["type"] == "ok"),
        *(phases[name] for name in ("steady", "recovery", "final", "end")),
        ended,
    ]
    names = ("boot", "first ack", "load", "schedule", "after", "final reads", "verdict")
    parts = {name: (until - since) / 1e9 for name, since, until in zip(names, times, times[1:], strict=False)}
    return {**parts, "above": (ended - began) / 1e9 - OWN}


def _table(home: Path, name: str, columns: list[str]) -> list[dict[str, Any]]:
    files = sorted((home / "history" / name).glob("*.parquet"))
    tables = [pq.read_table(file, columns=columns, partitioning=None) for file in files]
    rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist()
    return rows


def measure(checkout: Path) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        call = [sys.executable, __file__, "--in", folder, "--began", str(time.monotonic_ns())]
        env = {**os.environ, "PYTHONPATH": str(checkout)}
        answer = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, env=env)
    found: dict[str, dict[str, float]] = json.loads(answer.stdout.splitlines()[-1])
    return found


def table(found: dict[str, list[dict[str, dict[str, float]]]]) -> Table:
    """found: by checkout, the rounds. Medians."""
    shown = Table("seconds", *(f"{which}, {name}" for which in BARS for name in found), "bar")
    for part in next(iter(found.values()))[0]["first"]:
        cells = [
            f"{statistics.median(each[which][part] for each in rounds):.2f}"
            for which in BARS
            for rounds in found.values()
        ]
        bar = {"above": " / ".join(f"{bar:g}" for bar in BARS.values()), "first ack": f"{FIRST_ACK:g}"}
        shown.add_row(part, *cells, bar.get(part, ""))
    return shown


def _lines(seconds: dict[str, float]) -> str:
    return "\n".join(f"{name:<12}{each:8.2f}" for name, each in seconds.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--before", type=Path, metavar="CHECKOUT")
    either.add_argument("--tests", type=int, metavar="N")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--in", type=Path, dest="folder", help=argparse.SUPPRESS)
    parser.add_argument("--began", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(scenario(options.folder, options.began)))
        return
    if options.tests is not None and options.tests < 2:
        parser.error(f"--tests {options.tests}: expected at least 2, since the first test starts the cluster")
    require_java()
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    require_images([ClusterSpec().version])
    if options.tests:
        seconds = session(options.tests)
        print(json.dumps(seconds) if options.json else _lines(seconds))
        return
    checkouts = {"now": Path(__file__).parents[1]}
    if options.before:
        checkouts = {"before": options.before.resolve(), **checkouts}
    found: dict[str, list[dict[str, dict[str, float]]]] = {name: [] for name in checkouts}
    for _ in range(options.rounds):
        for name, checkout in checkouts.items():
            found[name].append(measure(checkout))
    if options.json:
        print(json.dumps(found))
    else:
        Console(width=120).print(table(found))


if __name__ == "__main__":
    main()
