"""How an explanation names clients and writes, and the evidence in its headline. No JVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.explain.explain import facts
from analyzers.explain.explanation import Entry, Labels
from analyzers.explain.overview import Moment

WRITE = (2 << 40) + 7115
LABELS = Labels(began=10**9, clients={2: "producer 0", 9: "reader 1", 7: "session 4", 99: "final 0"})


@dataclass
class Row:
    process: int
    session: int | None = None
    final: bool | None = False


def test_a_client_has_the_name_of_the_story() -> None:
    assert (LABELS.client(2), LABELS.client(3)) == ("producer 0", "process 3")


def test_a_write_has_its_number_and_its_name() -> None:
    assert LABELS.write(WRITE) == "2:7115 (producer 0's 7,116th write)"
    assert LABELS.write((3 << 40) + 1) == "3:1", "of a client of unknown role"
    assert LABELS.write(None) == "no value of this run"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (Row(9), "reader 1"),
        (Row(9, session=4), "reader 1, session 4"),
        (Row(9, final=True), "reader 1, final read"),
        (Row(7, session=4), "session 4"),
        (Row(7, session=5), "session 4, session 5"),
        (Row(8, final=None), "process 8"),
        (Row(99, final=True), "final 0"),
    ],
)
def test_a_reader_says_for_whom_it_reads(row: Any, text: str) -> None:
    assert LABELS.reader(row) == text


def test_times_are_those_since_the_first_operation() -> None:
    assert LABELS.at(2_500_000_000) == "at 1.500 s"
    assert (LABELS.at(None), Labels(began=None).at(5)) == ("at an unknown time", "at an unknown time")
    entries = [
        Entry(time=3 * 10**9, order=0, who="a", what="b"),
        Entry(time=10**9, order=0, who="c", what="d"),
    ]
    assert LABELS.timeline(entries) == (
        Moment(time=0.0, who="c", what="d"),
        Moment(time=2.0, who="a", what="b"),
    )


EXAMPLE = {"topic": "t", "partition": 0, "time": 5, "process": 2, "op": WRITE, "offset": 3, "value": WRITE}


def test_a_client_and_a_write_have_the_name_of_the_verdict_and_that_of_the_tables() -> None:
    assert facts(ANOMALIES["lost-write"], EXAMPLE, began=0, clients={2: "producer 0"}) == {
        "process": "2 (producer 0)", "op": "2:7115 (producer 0's 7,116th write)", "offset": "3", "value": "2:7115",
    }  # fmt: skip


def test_a_client_of_unknown_role_has_its_number_only() -> None:
    found = facts(ANOMALIES["lost-write"], EXAMPLE, began=0, clients={3: "producer 0"})
    assert (found["process"], found["op"]) == ("2", "2:7115 (process 2's 7,116th write)")


def test_a_second_write_has_its_own_name() -> None:
    both = {"offset": 3, "value": WRITE, "other_value": 3 << 40}
    found = facts(
        ANOMALIES["inconsistent-offsets"], both, began=0, clients={2: "producer 0", 3: "producer 1"}
    )
    assert found["value"] == "2:7115 (producer 0's 7,116th write)"
    assert found["other_value"] == "3:0 (producer 1's 1st write)"


def test_what_is_no_write_or_unknown_has_no_second_name() -> None:
    found = facts(
        ANOMALIES["lost-write"], EXAMPLE | {"op": 7, "value": None, "offset": None}, began=0, clients={}
    )
    assert (found["op"], found["value"], found["offset"]) == ("7", "unknown", "unknown")
    assert "time" not in found
