"""The history of several cells, divided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.matrix.batch import split, unacknowledged
from workloads.history.compaction.compact import compact
from workloads.history.schema import HARNESS, NEMESIS, VALUE_BITS
from workloads.history.writer import Writer

PROBE, FINAL = 2, 3


def write(home: Path, table: str, process: int, *rows: dict[str, Any]) -> None:
    writer = Writer(home / "history", table, process)
    for row in rows:
        writer.append(run="r", process=process, **row)
    writer.close()


def send(process: int, number: int, type: str) -> dict[str, Any]:
    value = process << VALUE_BITS | number
    return {"op": value, "value": value, "index": number, "f": "send", "type": type, "topic": f"cell{process}-r",
            "partition": 0, "invoked": 10 + number, "completed": None if type == "invoke" else 20,
            "assignment": 0}  # fmt: skip


def operation(f: str, value: object, **columns: Any) -> dict[str, Any]:
    return {
        "op": 1,
        "f": f,
        "type": "info",
        "invoked": 1,
        "completed": 2,
        "value": json.dumps(value),
        **columns,
    }


@pytest.fixture
def together(tmp_path: Path) -> RunDirectory:
    home = RunDirectory(tmp_path / "together")
    home.path.mkdir()
    home.logs.mkdir()
    (home.logs / "1.log").write_text("log of node 1\n")
    home.environment.write_text("{}")
    for process in (0, 1):
        write(home.path, "records", process, send(process, 0, "invoke"), send(process, 0, "ok"))
    polls = [{**send(process, 0, "ok"), "f": "poll", "final": True, "offset": 0} for process in (0,)]
    write(home.path, "records", FINAL, *polls)
    workers = [
        operation("worker", {"role": "producer", "process": each, "event": "started"}) for each in (0, 1)
    ]
    write(home.path, "operations", HARNESS, operation("phase", {"phase": "steady"}), *workers,
          operation("topic", {"event": "created"}, topic="cell1-r"))  # fmt: skip
    write(home.path, "operations", NEMESIS, operation("kill", {"event": "kill-0"}))
    for topic in ("cell0-r", "cell1-r"):
        write(home.path, "operations", FINAL + (topic == "cell1-r"), operation("final-read", {}, topic=topic))
    return home


def test_each_cell_gets_its_own_rows_and_those_of_the_cluster(together: RunDirectory, tmp_path: Path) -> None:
    own = RunDirectory(tmp_path / "own")
    own.path.mkdir()
    split(together, own, run="r00", topic="cell1-r", others=frozenset({0}))
    compact(own.path)
    records = pq.read_table(own.history / "records").to_pylist()
    assert {(row["run"], row["topic"], row["process"]) for row in records} == {("r00", "cell1-r", 1)}
    operations = pq.read_table(own.history / "operations").to_pylist()
    found = {(row["f"], row["topic"], json.loads(row["value"]).get("process")) for row in operations}
    assert found == {
        ("phase", None, None),
        ("worker", None, 1),
        ("kill", None, None),
        ("topic", "cell1-r", None),
        ("final-read", "cell1-r", None),
    }
    assert not json.loads((own.history / "format.json").read_text()).get("cut")
    assert (own.logs / "1.log").read_text() == "log of node 1\n"


def test_records_without_acknowledgement_that_no_final_read_found_are_counted(
    together: RunDirectory, tmp_path: Path
) -> None:
    counts = []
    for number in (0, 1):
        own = RunDirectory(tmp_path / str(number))
        own.path.mkdir()
        split(together, own, run=f"r{number}", topic=f"cell{number}-r", others=frozenset({1 - number}))
        compact(own.path)
        counts.append(unacknowledged(own.path))
    assert counts == [(1, 0), (1, 1)]
