"""Rewind: its topic and workers, the values that it refuses, and what a rewinder records."""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzers.verdict.promises import PROMISES
from tests.support.worker_context import rows_on_disk, worker_context
from workloads.clients.protocol import Log, LostPosition, Polled, PolledRecords
from workloads.conformance import check_workload
from workloads.payload import encode
from workloads.rewind import Rewind
from workloads.roles import rewinder as role
from workloads.roles.context import WorkerContext
from workloads.roles.rewinder import Rewinder

LOG = ("t", 0)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"partitions": 0}, "Rewind.partitions=0: expected a whole number, 1 to 1000"),
        ({"rewinders": 0}, "Rewind.rewinders=0: expected a whole number, 1 to 100"),
        ({"acks": True}, "Rewind.acks=True: expected 'all', 1 or 0"),
        ({"rate": 0}, "Rewind.rate=0: expected records per second above 0, or None"),
        ({"interval": -1}, "Rewind.interval=-1: expected seconds, 0 to 3600"),
        ({"span": 0}, "Rewind.span=0: expected a whole number, 1 to 1000000"),
        ({"by_time": 1.5}, "Rewind.by_time=1.5: expected a share, 0 to 1"),
        ({"auto_offset_reset": "none"}, "Rewind.auto_offset_reset='none': expected 'earliest' or 'latest'"),
        ({"topic_config": {"min.insync.replicas": 4}}, "Rewind.topic_config['min.insync.replicas']=4"),
        ({"assignment": {0: [1]}}, "Rewind.assignment={0: [1]}: expected partitions 0 to 1"),
        ({"library": "none"}, "Rewind.library='none': expected one of"),
        ({"client": {"acks": 1}}, "Rewind.client['acks']"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Rewind(**values)


@pytest.mark.parametrize(
    "values", [{}, {"acks": 1, "rate": None}, {"assignment": {0: [1, 2, 3], 1: [2, 3, 1]}, "interval": 2.5}]
)
def test_it_conforms_and_survives_json(values: dict[str, Any]) -> None:
    rewind = Rewind(**values)
    check_workload(rewind)
    assert Rewind.from_json(json.loads(json.dumps(rewind.to_json()))) == rewind
    assert rewind.requires <= set(PROMISES)


def test_what_it_promises_depends_on_acks() -> None:
    assert Rewind().allowed == {"expired"}
    assert Rewind(acks=1).allowed == {"expired", "duplicate", "nonmonotonic-send"}
    assert Rewind().requires == {"rereads", "polls-to-the-end", "acks-after-faults"}
    assert Rewind(acks=0).requires == {"rereads", "polls-to-the-end"}
    assert (Rewind(acks=0).load_counter, Rewind().load_counter) == ("sends", "acks")


def test_smaller_workloads_name_what_was_left_out() -> None:
    smaller = dict(Rewind(producers=3).smaller())
    assert smaller["one producer and one rewinder"] == Rewind(producers=1, rewinders=1)
    assert smaller["1 rewinders"] == Rewind(producers=3, rewinders=1)
    assert list(Rewind(producers=1, rewinders=1).smaller()) == []
    layout = {0: (2, 1, 3)}
    assert Rewind(partitions=1).with_layout(layout).topics("r")[0].assignment == layout


class FakeConsumer:
    """A log of records with the time 100 + offset, from `start` on. `sought`: the targets of seeks."""

    def __init__(self) -> None:
        self.positions: dict[Log, int] = {LOG: 0}
        self.assignment, self.start, self.end = 0, 0, 10
        self.sought: list[int] = []
        self.polls: deque[int] = deque()

    def poll(self, timeout: float) -> PolledRecords:  # noqa: ARG002 - as the protocol's
        first = self.positions[LOG]
        if first < self.start or first >= self.end:
            return PolledRecords()
        last = min(first + 4, self.end)
        self.positions[LOG] = last
        return PolledRecords.of(
            Polled(LOG, offset, 0, encode("r", *LOG, offset), timestamp=100 + offset)
            for offset in range(first, last)
        )

    def lost(self) -> list[LostPosition]:
        return [LostPosition(LOG, self.positions[LOG])] if self.positions[LOG] < self.start else []

    def seek(self, log: Log, offset: int) -> None:
        self.positions[log], self.assignment = offset, self.assignment + 1
        self.sought.append(offset)

    def leader_epoch(self, log: Log) -> int:  # noqa: ARG002 - as the protocol's
        return 0

    def close(self) -> None: ...


class FakeLeaders:
    """Answers searches as scripted, and otherwise with the offsets of the consumer's log."""

    def __init__(self, consumer: FakeConsumer) -> None:
        self.consumer = consumer
        self.answers: deque[int | Exception] = deque()
        self.asked: list[int] = []

    def offset(self, log: Log, *, at: int = -1, epoch: int = -1, limit: float) -> int:  # noqa: ARG002
        if at < 0:
            return self.consumer.start if at == -2 else self.consumer.end
        self.asked.append(at)
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def consumer() -> FakeConsumer:
    return FakeConsumer()


@pytest.fixture
def leaders(consumer: FakeConsumer) -> FakeLeaders:
    return FakeLeaders(consumer)


@pytest.fixture
def context(
    tmp_path: Path, consumer: FakeConsumer, leaders: FakeLeaders, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WorkerContext]:
    options = {"interval": 0, "span": 8, "by_time": 0, "auto_offset_reset": "earliest"}
    context = worker_context(tmp_path, "rewinder", options, topics={"t": 1})
    monkeypatch.setattr(context, "consumer", lambda start: consumer)  # noqa: ARG005
    monkeypatch.setattr(context, "leaders", lambda: leaders)
    yield context
    context.close()


@pytest.fixture
def rewinder(context: WorkerContext, consumer: FakeConsumer) -> Rewinder:
    """It has read the log to its end."""
    made = Rewinder(context)
    for _ in range(4):
        made.read_on(0)
    assert consumer.positions[LOG] == 10
    return made


def operations(context: WorkerContext) -> list[dict[str, Any]]:
    context.flush()
    found = rows_on_disk(context.home)
    return [row | {"value": json.loads(row["value"]) if row["value"] else None} for row in found]


def only(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["f"], row["type"], row["start_offset"], row["end_offset"], row["value"]


def test_it_reads_again_up_to_where_it_was(
    context: WorkerContext, rewinder: Rewinder, consumer: FakeConsumer
) -> None:
    rewinder.go_back()
    (row,) = operations(context)
    assert consumer.sought == [row["start_offset"]]
    assert 2 <= row["start_offset"] < 10
    assert only(row) == ("rewind", "ok", row["start_offset"], 10, None)
    assert context.counts["rewinds"] == 1


def test_it_goes_back_only_in_logs_that_it_has_read(context: WorkerContext) -> None:
    Rewinder(context).go_back()
    assert operations(context) == []


def test_a_search_is_recorded_with_the_time_of_what_it_found(
    context: WorkerContext, rewinder: Rewinder, leaders: FakeLeaders
) -> None:
    context.options["by_time"] = 1
    leaders.answers.append(3)
    rewinder.go_back()
    searched, again = operations(context)
    known = searched["start_offset"]
    assert leaders.asked == [100 + known]
    about = {"timestamp": 100 + known, "value": known, "found": 103}
    assert only(searched) == ("search", "ok", known, 3, about)
    assert only(again) == ("rewind", "ok", 3, 10, None)
    assert searched["completed"] <= again["invoked"], "the row of the search has the times of its request"


@pytest.mark.parametrize(
    ("answer", "expected"), [(-1, ("ok", None)), (TimeoutError("no leader"), ("info", "no leader"))]
)
def test_without_a_result_it_stays_where_it_is(
    context: WorkerContext, rewinder: Rewinder, leaders: FakeLeaders, answer: Any, expected: tuple[Any, ...]
) -> None:
    context.options["by_time"] = 1
    leaders.answers.append(answer)
    rewinder.go_back()
    (row,) = operations(context)
    assert (row["f"], row["type"], row["error"], row["end_offset"]) == ("search", *expected, None)
    assert row["value"]["found"] is None
    assert leaders.consumer.assignment == 0


def test_an_answer_behind_its_position_leads_nowhere(
    context: WorkerContext, rewinder: Rewinder, leaders: FakeLeaders
) -> None:
    """A wrong answer: it would leave out records."""
    context.options["by_time"] = 1
    leaders.answers.append(12)
    rewinder.go_back()
    searched, again = operations(context)
    assert (searched["end_offset"], searched["value"]["found"]) == (12, None)
    assert (again["type"], leaders.consumer.assignment) == ("info", 0)


def test_a_position_that_was_removed_is_lost_and_not_read_again(
    context: WorkerContext, rewinder: Rewinder, consumer: FakeConsumer
) -> None:
    consumer.start = consumer.end
    rewinder.go_back()
    lost, again = operations(context)
    assert only(lost)[:4] == ("position-lost", "ok", again["start_offset"], 10)
    assert again["type"] == "info"
    assert "nothing is left from offset" in again["error"]


def test_it_gives_up_what_it_cannot_read_again(
    context: WorkerContext, rewinder: Rewinder, consumer: FakeConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role, "REREAD_LIMIT", 0.0)
    monkeypatch.setattr(consumer, "poll", lambda timeout: [])  # noqa: ARG005
    rewinder.go_back()
    (row,) = operations(context)
    assert (row["type"], context.counts["rewinds given up"]) == ("info", 1)
    assert "end not reached within 0 s, at offset" in row["error"]


def test_the_role_ends_when_it_is_stopped(context: WorkerContext) -> None:
    context.go.set()
    stopping = threading.Timer(0.2, context.stop.set)
    stopping.start()
    role.rewind(context)
    assert context.counts["rewinds"] > 0
    assert {row["f"] for row in operations(context)} == {"rewind"}
