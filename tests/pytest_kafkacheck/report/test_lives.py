"""The life of a value, from planted rows."""

from __future__ import annotations

from typing import Any

from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import judge
from pytest_kafkacheck.report.lives import MOST_READS, lives
from tests.support.report_runs import BEGAN, planted, poll, send

SECOND_WRITE = 7


def life(anomaly: str, records: list[dict[str, Any]], **example: Any) -> list[tuple[int | None, str, str]]:
    of = {"topic": "t", "partition": 0, "time": 2.0, "offset": 0, "faults": [], **example}
    finding = Finding(anomaly=anomaly, count=1, summary="", examples=(of,))
    clients = {0: "producer 0", 1: "reader 0"}
    run = planted(records=records, verdict=judge("r", findings=[finding], clients=clients, began=BEGAN))
    (found,) = lives(run)[anomaly]
    return [(event.time, event.who, event.what) for event in found.events]


def test_attempts_and_an_unknown_outcome_are_told() -> None:
    sent = send(0, 1, None, error="TimeoutError", offset=None)
    assert life("unseen", [sent], value=0) == [
        (1000, "producer 0", "sends producer 0's 1st write to t-0"),
        (2000, "verdict", "unseen is counted here"),
        (None, "producer 0", "never learns the outcome of it after TimeoutError"),
        (None, "", "nobody ever read producer 0's 1st write"),
    ]


def test_two_values_of_one_offset_are_told_apart() -> None:
    records = [
        send(0, 1),
        send(SECOND_WRITE, 3, offset=0),
        poll(SECOND_WRITE, 4, offset=0, final=True, node=2),
    ]
    events = life("offset-reuse", records, value=0, other_value=SECOND_WRITE)
    assert (1010, "producer 0", "producer 0's 1st write is acknowledged at offset 0 (10 ms)") in events
    assert (
        4000,
        "reader 0",
        "finds producer 0's 8th write in the final read at offset 0, served by broker 2",
    ) in events
    assert (None, "", "nobody ever read producer 0's 1st write") in events


def test_of_many_reads_the_first_are_shown_and_the_others_counted() -> None:
    polls = [poll(0, 3 + at, process=at + 1) for at in range(MOST_READS + 5)]
    events = life("duplicate", [send(0, 1), *polls], value=0)
    assert len([what for _, _, what in events if what.startswith("reads it")]) == MOST_READS
    assert (None, "", "5 more reads of it are not shown") in events


def test_a_finding_about_no_value_has_its_moment() -> None:
    assert life("unavailable", [send(0, 1)], value=None, offset=None) == [
        (2000, "verdict", "unavailable is counted here")
    ]


def test_a_finding_about_a_group_shows_who_owned_the_partition_and_who_committed() -> None:
    row = {"type": "ok", "topic": "t", "partition": 0, "group": "g", "op": 1}
    commit = {
        "f": "commit",
        "process": 4,
        "invoked": 3,
        "completed": 3,
        "end_offset": 9,
        "generation": 1,
        "value": {},
    }
    operations = [
        row | {"f": "member", "process": 4, "invoked": 1, "completed": 1, "start_offset": 5, "generation": 1,
               "value": {"event": "assigned", "member": "m"}},
        row | {"f": "member", "process": 5, "invoked": 2, "completed": 2, "start_offset": 5, "generation": 2,
               "value": {"event": "assigned", "member": "n"}},
        row | commit | {"value": {}},
        row | commit | {"value": {}, "partition": 1},
    ]  # fmt: skip
    example = {"topic": "t", "partition": 0, "time": 3.0, "process": 4, "offset": 9, "faults": []}
    finding = Finding(anomaly="unfenced-commit", count=1, summary="", examples=(example,))
    run = planted(operations=operations, verdict=judge("r", findings=[finding], began=BEGAN))
    (found,) = lives(run)["unfenced-commit"]
    assert [(event.time, event.who, event.what) for event in found.events] == [
        (1000, "process 4", "is assigned t-0 from offset 5 in generation 1"),
        (2000, "process 5", "is assigned t-0 from offset 5 in generation 2"),
        (3000, "process 4", "its commit of offset 9 of t-0 is accepted in generation 1"),
        (3000, "verdict", "unfenced-commit is counted here"),
    ]
