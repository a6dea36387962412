"""Six events with acks=1 are shrunk to the one that loses writes, for as long as it reliably does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nemesis.shrink.rate import RELIABLE
from pytest_kafkacheck.cli.main import AS_EXPECTED
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(3600)]

SIX = """
from pytest_kafkacheck import AppendLog, Experiment, cut_clients, dns, isolate, kill, pause, reset

experiment = Experiment(
    name="six",
    workload=AppendLog(acks=1, partitions=1, rate=300, topic_config={"min.insync.replicas": 1}),
    faults=[
        dns("follower", at=1, lasting=2),
        pause("follower", at=4, lasting=2),
        isolate("leader", at=7, lasting=7),  # a session expires after 3 s, so half of it is too short to rely on
        cut_clients("controller", at=17, lasting=2),
        kill("follower", at=20, lasting=2),
        reset("one", at=24),
    ],
    expect="invalid",
)
"""

AGAIN = 5
"""Runs of the result on clusters that the search did not use."""


def kafkacheck(*arguments: object, cwd: Path) -> str:
    command = [sys.executable, "-m", "pytest_kafkacheck", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=3000)
    assert done.returncode == AS_EXPECTED, done.stdout + done.stderr
    return done.stdout


def test_what_is_written_down_reproduces(tmp_path: Path) -> None:
    (tmp_path / "six.py").write_text(SIX)
    kafkacheck("run", "six.py", "--dir", "first", cwd=tmp_path)
    (first,) = (tmp_path / "first").iterdir()

    report = kafkacheck("shrink", first, "--minutes", 15, cwd=tmp_path)
    best = Experiment.read(first / "shrink" / "best.json")
    assert [event.fault.name for event in best.schedule.events] == ["isolate"]
    rate = re.search(r"reproduced: +(\d+) of (\d+) runs", report)
    assert rate is not None, report
    hits, runs = map(int, rate.groups())
    assert hits >= RELIABLE * runs

    shown = 0
    with Harness(tmp_path / "again") as harness:
        for _ in range(AGAIN):
            run = harness.run(best, only=["lost-write"])
            shown += any(finding.anomaly == "lost-write" for finding in run.verdict.findings)
    assert shown >= RELIABLE * AGAIN, f"{shown} of {AGAIN}, and before: {report}"
