"""What a snapshot records: the ends that it reached, what it polled, and what it could not reach."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.worker_context import worker_context
from tests.workloads.test_transactions import rows
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log, LostPosition, Polled, PolledRecords
from workloads.payload import encode
from workloads.roles import snapshots
from workloads.roles.snapshots import Snapshots

A, B = ("t", 0), ("t", 1)


class FakeLeaders:
    """Reports ends as scripted, per log and question; no end: no leader answers. `asked`: how it was asked."""

    def __init__(self, ends: Mapping[Log, list[int | None]], *, start: int = 0) -> None:
        self._ends = {log: deque(of_log) for log, of_log in ends.items()}
        self._start = start
        self.asked: list[dict[str, Any]] = []

    def offset(self, log: Log, **asked: Any) -> int:
        if "at" in asked:
            return self._start
        self.asked.append(asked)
        end = self._ends[log].popleft()
        if end is None:
            raise TimeoutError("no leader")
        return end


class FakeConsumer:
    """Has one record of each log at each poll, up to `last`."""

    assignment = 0

    def __init__(self, starts: Mapping[Log, int], last: int, *, epoch: int) -> None:
        self.positions, self._last, self._epoch = dict(starts), last, epoch
        self.wanted: tuple[Log, ...] = ()
        self.sought: list[tuple[Log, int]] = []

    def only(self, logs: tuple[Log, ...]) -> None:
        self.wanted = logs

    def poll(self, _: float) -> PolledRecords:
        polled = []
        for log in self.wanted:
            offset = self.positions[log]
            if offset <= self._last:
                polled.append(Polled(log, offset, 0, encode("r", *log, offset, amount=10)))
                self.positions[log] += 1
        return PolledRecords.of(polled)

    def lost(self) -> list[LostPosition]:
        return []

    def leader_epoch(self, _: Log) -> int:
        return self._epoch

    def seek(self, log: Log, offset: int) -> None:
        self.sought.append((log, offset))
        self.positions[log] = offset

    def close(self) -> None: ...


class Harness:
    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.patch = home, monkeypatch
        self.context = worker_context(home, "snapshot-reader", {"interval": 0}, topics={"t": 2})
        self.stop = threading.Event()
        self.consumer: FakeConsumer

    def snapshots(self, leaders: FakeLeaders, *, start: int = 0, last: int = 99, epoch: int = 3) -> Snapshots:
        self.consume(last=last, epoch=epoch)
        starts = {A: start, B: start}
        return Snapshots(self.context, starts, leaders=cast(Leaders, leaders), stop=self.stop)

    def consume(self, *, last: int, epoch: int) -> None:
        def consumer(starts: Mapping[Log, int], *, committed: bool) -> FakeConsumer:
            assert committed
            self.consumer = FakeConsumer(starts, last, epoch=epoch)
            return self.consumer

        self.patch.setattr(self.context, "consumer", consumer)

    def reads(self) -> list[tuple[Any, ...]]:
        """Partition, number of the snapshot, type, start and end."""
        self.context.flush()
        found = [row for row in rows(self.home, "operations") if row["f"] == "read"]
        assert all(json.loads(row["value"])["committed"] for row in found)
        numbers = [json.loads(row["value"])["snapshot"] for row in found]
        return [
            (row["partition"], number, row["type"], row["start_offset"], row["end_offset"])
            for row, number in zip(found, numbers, strict=True)
        ]

    def polled(self) -> list[tuple[Any, ...]]:
        self.context.flush()
        return [
            (row["partition"], row["offset"], row["amount"], row["committed"])
            for row in rows(self.home, "records")
        ]


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    harness = Harness(tmp_path, monkeypatch)
    yield harness
    harness.context.close()


def test_each_snapshot_goes_on_where_the_one_before_it_ended(harness: Harness) -> None:
    taking = harness.snapshots(FakeLeaders({A: [2, 3], B: [1, 1]}))
    assert taking.take(10)
    assert taking.take(10)
    assert harness.reads() == [
        (0, 0, "ok", 0, 2), (1, 0, "ok", 0, 1), (0, 1, "ok", 2, 3), (1, 1, "ok", 1, 1),
    ]  # fmt: skip
    assert harness.polled() == [(0, 0, 10, True), (1, 0, 10, True), (0, 1, 10, True), (0, 2, 10, True)]
    assert harness.context.counts["snapshots"] == 2


def test_a_log_without_a_leader_is_left_out_and_the_others_are_read(harness: Harness) -> None:
    taking = harness.snapshots(FakeLeaders({A: [None, 1], B: [2, 2]}))
    assert not taking.take(10)
    assert taking.take(10)
    assert harness.reads() == [
        (0, 0, "info", 0, None), (1, 0, "ok", 0, 2), (0, 1, "ok", 0, 1), (1, 1, "ok", 2, 2),
    ]  # fmt: skip
    assert harness.context.counts["snapshots given up"] == 1


def test_an_end_that_is_not_reached_in_time(harness: Harness) -> None:
    taking = harness.snapshots(FakeLeaders({A: [1], B: [3]}), last=1)
    assert not taking.take(0.1)
    assert harness.reads() == [(0, 0, "ok", 0, 1), (1, 0, "info", 0, 3)]


def test_a_stopped_snapshot_is_not_complete(harness: Harness) -> None:
    taking = harness.snapshots(FakeLeaders({A: [1], B: [0]}))
    harness.stop.set()
    assert not taking.take(10)
    assert harness.reads() == [(0, 0, "info", 0, 1), (1, 0, "ok", 0, 0)]


def test_an_outdated_leader_is_refused_by_its_epoch_or_else_by_the_position(harness: Harness) -> None:
    for epoch, least in ((3, 0), (-1, 5)):
        leaders = FakeLeaders({A: [5], B: [5]})
        harness.snapshots(leaders, start=5, epoch=epoch).take(10)
        assert [(asked["epoch"], asked["least"], asked["committed"]) for asked in leaders.asked] == [
            (epoch, least, True)
        ] * 2


def test_a_position_behind_the_end_of_its_log_is_looked_into(harness: Harness) -> None:
    """The log was truncated, as the leader confirms."""
    leaders = FakeLeaders({A: [1, 1], B: [5]})
    taking = harness.snapshots(leaders, start=5)
    assert taking.take(10)
    assert harness.reads() == [(0, 0, "ok", 5, 1), (1, 0, "ok", 5, 5)]
    assert harness.consumer.sought == [(A, 0)]


def test_a_reader_takes_snapshots_until_it_is_stopped(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.consume(last=99, epoch=3)
    leaders = FakeLeaders({A: [1, 2, 3], B: [0, 0, 0]})
    monkeypatch.setattr(snapshots, "starts", lambda _: {A: 0, B: 0})
    monkeypatch.setattr(harness.context, "leaders", lambda: leaders)
    harness.context.go.set()
    take = Snapshots.take

    def take_three(self: Snapshots, limit: float) -> bool:
        taken = take(self, limit)
        if harness.context.counts["snapshots"] == 3:
            harness.context.stop.set()
        return taken

    monkeypatch.setattr(Snapshots, "take", take_three)
    snapshots.take_snapshots(harness.context)
    assert [read[:3] for read in harness.reads() if read[0] == 0] == [
        (0, 0, "ok"),
        (0, 1, "ok"),
        (0, 2, "ok"),
    ]


def test_an_auditor_takes_one_snapshot_when_it_is_stopped(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.consume(last=99, epoch=3)
    monkeypatch.setattr(snapshots, "Leaders", lambda *_, **__: FakeLeaders({A: [4], B: [3]}, start=3))
    harness.context.go.set()
    harness.context.stop.set()
    snapshots.audit(harness.context)
    assert harness.reads() == [(0, 0, "ok", 3, 4), (1, 0, "ok", 3, 3)]


def test_an_auditor_leaves_out_a_log_without_a_leader(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OneLeader(FakeLeaders):
        def offset(self, log: Log, **asked: Any) -> int:
            if log == A:
                raise TimeoutError("no leader")
            return super().offset(log, **asked)

    harness.consume(last=99, epoch=3)
    monkeypatch.setattr(snapshots, "Leaders", lambda *_, **__: OneLeader({B: [2]}))
    harness.context.go.set()
    harness.context.stop.set()
    snapshots.audit(harness.context)
    assert harness.reads() == [(1, 0, "ok", 0, 2)]
    assert harness.context.counts["logs not audited"] == 1
    assert snapshots.ANSWER_LIMIT < snapshots.AUDIT_LIMIT
