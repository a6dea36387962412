"""The command line repeats an invalid run on the same nodes, and shrinks it to the event that causes the anomaly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck.cli.main import AS_EXPECTED, USAGE
from pytest_kafkacheck.experiment.experiment import Experiment

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

EXPERIMENT = """
from pytest_kafkacheck import AppendLog, Experiment, cut_clients, dns, isolate

experiment = Experiment(
    name="loses",
    workload=AppendLog(acks=1, partitions=1, rate=300, sessions=0, topic_config={"min.insync.replicas": 1}),
    faults=[
        dns("follower", at=1, lasting=2),
        isolate("leader", at=3, lasting=9),
        cut_clients("controller", at=13, lasting=1),
    ],
    cooldown=1,
    expect="invalid",
)
"""


def kafkacheck(*arguments: object, cwd: Path) -> tuple[int, str]:
    """Exit status and output of a command."""
    command = [sys.executable, "-m", "pytest_kafkacheck", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def targets(run: Path) -> dict[str, list[int]]:
    """Event to the nodes that its fault affected."""
    rows = pq.read_table(run / "history" / "operations").to_pylist()
    values = [json.loads(row["value"]) for row in rows if row["process"] == -1]
    return {value["event"]: value["nodes"] for value in values if value["stage"] == "inject"}


@pytest.mark.nightly  # three minutes
def test_run_replay_shrink(tmp_path: Path) -> None:
    (tmp_path / "loses.py").write_text(EXPERIMENT)
    status, output = kafkacheck("run", "loses.py", "--dir", "first", cwd=tmp_path)
    assert status == AS_EXPECTED, output
    (first,) = (tmp_path / "first").iterdir()
    assert f"kafkacheck replay {Path('first') / first.name}" in output
    nodes = targets(first)

    status, output = kafkacheck("replay", first, "--dir", "again", cwd=tmp_path)
    assert status == AS_EXPECTED, output
    (again,) = (tmp_path / "again").iterdir()
    assert targets(again) == nodes
    replayed = Experiment.read(again / "experiment.json")
    assert [event.target.nodes for event in replayed.schedule.events] == [
        tuple(each) for each in nodes.values()
    ]

    status, output = kafkacheck("shrink", first, "--minutes", 1.5, cwd=tmp_path)
    assert status == AS_EXPECTED, output
    best = Experiment.read(first / "shrink" / "best.json")
    events = [event.fault.name for event in best.schedule.events]
    assert "isolate" in events
    assert len(events) <= 2
    names: dict[str, object] = {}
    exec((first / "shrink" / "test_minimal.py").read_text(), names)
    assert [value for value in names.values() if isinstance(value, Experiment)]

    status, output = kafkacheck("shrink", tmp_path, cwd=tmp_path)
    assert status == USAGE
    assert "not the folder of a run" in output
