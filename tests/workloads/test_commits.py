"""A member of a group that is killed while it commits leaves a history with all that it had polled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from workloads.history.schema import OPERATIONS, RECORDS
from workloads.history.segments import read, segments
from workloads.history.writer import Writer
from workloads.recording import Commits

MEMBER = """
import sys, time
from pathlib import Path
from workloads.clients.protocol import Polled, PolledRecords
from workloads.recording import Commits
from workloads.history.writer import Writer
from workloads.payload import encode
from workloads.recording import Records

history = Path(sys.argv[1])
records, operations = (
    Writer(history, table, 3, age=3600) for table in ("records", "operations")
)
polls = Records(records, run="r", process=3, session=None)
commits = Commits(records=records, operations=operations, run="r", process=3, group="g", member="m3")
operations.append(run="r", op=1, process=3, f="member", type="ok", invoked=1, completed=2, topic="t", partition=0,
                  start_offset=0, value='{"event": "assigned", "member": "m3"}', group="g", generation=1)
polled = [Polled(("t", 0), offset, 0, encode("r", "t", 0, offset, size=0)) for offset in range(5)]
polls.polled(2, PolledRecords.of(polled), invoked=3, completed=4, assignment=1)
commits.begin(5, {("t", 0): 5}, generation=1)
print("the request is sent", flush=True)
time.sleep(60)
"""


def rows(history: Path, table: str, schema: Any) -> list[dict[str, Any]]:
    return [row for path in segments(history, table) for row in read(path, schema).to_pylist()]


def test_polls_and_assignments_are_on_disk_when_a_commit_is_sent(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MEMBER, tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "the request is sent\n"
        process.send_signal(signal.SIGKILL)
    assert [row["offset"] for row in rows(tmp_path, "records", RECORDS)] == [0, 1, 2, 3, 4]
    assert [row["start_offset"] for row in rows(tmp_path, "operations", OPERATIONS)] == [0]


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ({}, {"member": "m"}),
        ({"reset": True}, {"member": "m", "reset": True}),
        ({"transaction": 7}, {"member": "m", "transaction": 7}),
    ],
)
def test_a_commit_is_one_row_for_each_partition(
    tmp_path: Path, more: dict[str, Any], value: dict[str, Any]
) -> None:
    writers = {table: Writer(tmp_path, table, 3) for table in ("records", "operations")}
    commits = Commits(**writers, run="r", process=3, group="g", member="m")
    begun = commits.begin(9, {("t", 0): 5, ("t", 1): 6}, generation=2, **more)
    commits.complete(begun, "fail", completed=begun[0].columns["invoked"] + 1, error="IllegalGeneration")
    for writer in writers.values():
        writer.close()
    found = rows(tmp_path, "operations", OPERATIONS)
    assert [(row["partition"], row["end_offset"], row["type"], row["generation"]) for row in found] == [
        (0, 5, "fail", 2), (1, 6, "fail", 2)
    ]  # fmt: skip
    assert [json.loads(row["value"]) for row in found] == [value, value]
    assert all(row["completed"] == row["invoked"] + 1 and row["group"] == "g" for row in found)
