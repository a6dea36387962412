"""The recreations of topics are found in the files of a history. No JVM."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.history.incarnations import FOREVER, RECREATE, cuts, topic_changes
from analyzers.history.load import Loaded
from analyzers.history.sources import Source
from workloads.history.schema import HARNESS, NEMESIS, OPERATIONS

NO_SPARK: Any = SimpleNamespace(loaded=Loaded())


def source(tmp_path: Path, *rows: dict[str, Any]) -> Source:
    file = tmp_path / "0.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows), schema=OPERATIONS), file)
    return Source(name="run", local=True, files={"operations": {str(file): 1}})


def change(
    event: str, invoked: int, completed: int | None, *, topic: str = "t", run: str = "r"
) -> dict[str, Any]:
    value = json.dumps({"event": event})
    return {
        "run": run, "process": HARNESS, "f": "topic", "topic": topic, "type": "ok", "invoked": invoked,
        "completed": completed, "value": value, "op": invoked,
    }  # fmt: skip


def fault(invoked: int, completed: int, *, effective: bool, stage: str = "inject") -> dict[str, Any]:
    value = json.dumps({"stage": stage, "effective": effective})
    return {
        "run": "r", "process": NEMESIS, "f": RECREATE, "type": "info", "invoked": invoked, "completed": completed,
        "value": value, "op": -invoked,
    }  # fmt: skip


def test_a_recreation_lasts_from_the_deletion_to_the_creation(tmp_path: Path) -> None:
    rows = [
        change("created", 1, 2), change("recreated", 50, 60), change("deleted", 30, 40),
        change("deleted", 130, 140), change("recreated", 150, 160), change("deleted", 200, 210),
        change("created", 5, 6, topic="other"), change("recreated", 70, 80, run="q"),
    ]  # fmt: skip
    assert cuts(topic_changes(NO_SPARK, [source(tmp_path, *rows)])) == {
        ("q", "t"): ((70, 80),),
        ("r", "t"): ((30, 60), (130, 160)),
    }


def test_a_fault_says_when_all_brokers_knew_the_new_topic(tmp_path: Path) -> None:
    rows = [change("deleted", 30, 40), change("recreated", 50, 60)]
    heal = fault(90, 91, effective=True, stage="heal")
    for effective, known in ((True, 90), (False, FOREVER)):
        made = source(tmp_path, *rows, fault(20, 90, effective=effective), heal)
        assert cuts(topic_changes(NO_SPARK, [made])) == {("r", "t"): ((30, known),)}
    elsewhere = source(tmp_path, *rows, fault(51, 90, effective=False), fault(10, 49, effective=False))
    assert cuts(topic_changes(NO_SPARK, [elsewhere])) == {("r", "t"): ((30, 60),)}
    assert cuts(topic_changes(NO_SPARK, [source(tmp_path, change("recreated", 50, None))])) == {
        ("r", "t"): ((50, FOREVER),)
    }


def test_the_end_of_a_recreation_is_unknown_while_the_run_goes_on_and_no_fault_proved_it(
    tmp_path: Path,
) -> None:
    deleted, created = change("deleted", 30, 40), change("recreated", 50, 60)

    def live(*rows: dict[str, Any]) -> Any:
        return cuts(topic_changes(NO_SPARK, [source(tmp_path, *rows)]), is_complete=False)

    assert live(change("created", 1, 2)) == {}
    assert live(deleted) == live(deleted, created) == {("r", "t"): ((30, FOREVER),)}
    proved = fault(20, 90, effective=True)
    assert live(deleted, created, proved) == {("r", "t"): ((30, 90),)}
    again = change("deleted", 130, 140)
    assert live(deleted, created, proved, again) == {("r", "t"): ((30, 90), (130, FOREVER))}


def test_most_histories_have_none(tmp_path: Path) -> None:
    assert cuts(topic_changes(NO_SPARK, [source(tmp_path), source(tmp_path, change("created", 1, 2))])) == {}


def alter(change: str, invoked: int, completed: int | None, *, type: str = "ok") -> dict[str, Any]:
    value = json.dumps({"change": change})
    return {
        "run": "r", "process": 5, "f": "alter", "topic": "t", "type": type, "invoked": invoked,
        "completed": completed, "value": value, "op": invoked,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected", "live"),
    [
        ([alter("delete", 30, 40), alter("create", 50, 60)], [(30, 60)], [(30, 60)]),
        ([alter("delete", 30, 40)], [(30, 40)], [(30, FOREVER)]),
        ([alter("delete", 30, 40), alter("create", 50, None, type="info")], [(30, 40)], [(30, FOREVER)]),
        ([alter("delete", 30, 40, type="info"), alter("create", 50, 60)], [(30, 60)], [(30, 60)]),
        ([alter("delete", 30, None, type="info")], [], [(30, FOREVER)]),
        ([alter("delete", 30, 40, type="fail"), alter("create", 50, 60, type="fail")], [], []),
        ([alter("create", 10, 20), alter("config", 30, 40)], [], []),
        (
            [alter("delete", 30, 40), alter("delete", 50, 60), alter("create", 70, 80)],
            [(30, 40), (50, 80)],
            [(30, FOREVER), (50, 80)],
        ),
    ],
    ids=["again", "on demand", "perhaps again", "perhaps deleted", "unknown", "refused", "others", "twice"],
)
def test_an_administrator_deletes_a_topic(
    tmp_path: Path, rows: list[dict[str, Any]], expected: list[Any], live: list[Any]
) -> None:
    changes = topic_changes(NO_SPARK, [source(tmp_path, *rows)])
    for is_complete, spans in ((True, expected), (False, live)):
        assert cuts(changes, is_complete=is_complete).get(("r", "t"), ()) == tuple(spans)
