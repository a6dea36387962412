"""What a session's read counts as its end, and that it is no alarm where the client cannot know the leader."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.worker_context import rows_on_disk, worker_context
from tests.workloads.test_leaders import BROKERS, LOG, FakeBrokers, epoch_is
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log, LostPosition, Polled, PolledRecords, ReportedEnd
from workloads.clients.requests import Leadership
from workloads.payload import encode
from workloads.roles import session
from workloads.roles.context import WorkerContext
from workloads.roles.sending import Sending
from workloads.roles.session import FollowerRacks, SessionReader

OTHER = ("t", 1)

Step = tuple[list[int], ReportedEnd | None]
"""What a poll returns: offsets, and the end that the response reports."""


class FakeConsumer:
    """Polls as scripted. After the script, the run is stopped."""

    def __init__(self, context: WorkerContext, start: dict[Log, int], script: deque[Step]) -> None:
        self._context, self._script = context, script
        self.positions = dict(start)
        self.assignment = 0
        self.rack: str | None = None
        self.epoch = -1
        self._end: ReportedEnd | None = None
        self._wanted: tuple[Log, ...] = tuple(start)

    def only(self, logs: tuple[Log, ...]) -> None:
        self._wanted = logs

    def poll(self, timeout: float) -> PolledRecords:  # noqa: ARG002 - as the protocol's
        if not self._script:
            self._context.stop.set()
            return PolledRecords()
        offsets, self._end = self._script.popleft()
        (log,) = self._wanted
        if offsets:
            self.positions[log] = offsets[-1] + 1
        return PolledRecords.of(Polled(log, each, 0, encode("r", *log, each)) for each in offsets)

    def reported_end(self, log: Log, *, since: int) -> ReportedEnd | None:  # noqa: ARG002
        return self._end if self._end is not None and self._end.asked >= since else None

    def leader_epoch(self, log: Log) -> int:  # noqa: ARG002
        return self.epoch

    def lost(self) -> list[LostPosition]:
        return []

    def close(self) -> None:
        pass


class FakeSending:
    def __init__(self, *, epoch: int, end: int) -> None:
        self.epoch, self.end = epoch, end

    def leader_epoch(self, log: Log) -> int:  # noqa: ARG002
        return self.epoch

    def acknowledged_end(self, log: Log) -> int:  # noqa: ARG002
        return self.end


class FakeRacks:
    def choose(self, log: Log) -> str:
        return f"rack-{log[1]}"


class Harness:
    """A session's reader, with its consumers, and its rows."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.context = worker_context(home, "session", {}, topics={"t": 2}, brokers=BROKERS, session=2)
        self.home = home
        self.script: deque[Step] = deque()
        self.consumers: list[FakeConsumer] = []
        monkeypatch.setattr(session, "starts", lambda _: {LOG: 0, OTHER: 0})
        monkeypatch.setattr(self.context, "leaders", lambda: Leaders(BROKERS, ["t"], stop=threading.Event()))
        monkeypatch.setattr(self.context, "consumer", self._consumer)

    def reader(self, *, epoch: int = -1, end: int = 0, racks: bool = False) -> SessionReader:
        sending = cast(Sending, FakeSending(epoch=epoch, end=end))
        chooser = cast(FollowerRacks, FakeRacks()) if racks else None
        return SessionReader(self.context, self.context.records(), sending, racks=chooser)

    def reads(self) -> list[dict[str, Any]]:
        self.context.flush()
        return rows_on_disk(self.home)

    def _consumer(
        self, start: dict[Log, int], *, assignment: int = 0, rack: str | None = None
    ) -> FakeConsumer:
        made = FakeConsumer(self.context, start, self.script)
        made.assignment, made.rack = assignment, rack
        self.consumers.append(made)
        return made


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    monkeypatch.setattr(session, "READ_LIMIT", 0.6)
    one = Harness(tmp_path, monkeypatch)
    yield one
    one.context.close()


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> FakeBrokers:
    return FakeBrokers(monkeypatch)


def test_without_an_epoch_the_end_of_a_stale_leader_is_no_completed_read(
    harness: Harness, brokers: FakeBrokers
) -> None:
    """The isolated leader answers with the end of before. The session has an acknowledgement beyond it, so the read
    did not find the end; with the new leader's answer it does."""
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 3), "new": epoch_is(5, 6)}
    reader = harness.reader(epoch=-1, end=6)
    harness.script.append(([0, 1, 2, 3, 4, 5], None))
    reader.read(LOG)
    (given_up,) = harness.reads()
    assert (given_up["type"], given_up["end_offset"]) == ("info", None)
    assert "broker 1 answered 3 in epoch 4" in given_up["error"]
    assert "6 is known" in given_up["error"]
    brokers.views["new"] = Leadership(2, 5, (2,))
    reader.read(LOG)
    assert [(row["type"], row["end_offset"]) for row in harness.reads()] == [("info", None), ("ok", 6)]


def test_nor_is_an_end_below_what_was_read(harness: Harness, brokers: FakeBrokers) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 2)}
    reader = harness.reader()
    harness.script.append(([0, 1, 2], None))
    reader.read(LOG)
    brokers.ends = {"old": epoch_is(4, 1)}
    reader.read(LOG)
    assert [row["type"] for row in harness.reads()] == ["ok", "info"]


def test_with_an_epoch_an_end_that_is_too_low_is_evidence(harness: Harness, brokers: FakeBrokers) -> None:
    """The leader of the epoch that acknowledged the write lacks it: that is what the check is for."""
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 3)}
    reader = harness.reader(epoch=4, end=6)
    harness.script.append(([0, 1, 2], None))
    reader.read(LOG)
    (found,) = harness.reads()
    assert (found["type"], found["end_offset"], found["value"]) == ("ok", 3, None)


def test_a_follower_is_read_to_the_end_that_its_first_response_reports(harness: Harness) -> None:
    reader = harness.reader(racks=True)
    assert reader.move(OTHER)
    later = 1 << 62
    harness.script.extend(
        [
            ([0], ReportedEnd(3, 0, 9)),  # sent before the read began
            ([1], ReportedEnd(3, later, 3)),
            ([2], ReportedEnd(3, later, 7)),
            ([3, 4], ReportedEnd(2, later, 4)),
        ]
    )
    reader.read(OTHER)
    reader.read(OTHER)
    assert [(row["type"], row["start_offset"], row["end_offset"]) for row in harness.reads()] == [
        ("ok", 0, 3), ("ok", 3, 4),
    ]  # fmt: skip
    assert [json.loads(row["value"]) for row in harness.reads()] == [{"node": 3}, {"node": 2}]


def test_a_follower_that_has_nothing_new_ends_the_read(harness: Harness) -> None:
    """This is how a session misses its own write: the response says that the log ends before it."""
    reader = harness.reader(racks=True, end=1)
    assert reader.move(LOG)
    harness.script.append(([], ReportedEnd(2, 1 << 62, 0)))
    reader.read(LOG)
    (found,) = harness.reads()
    assert (found["type"], found["end_offset"]) == ("ok", 0)


@pytest.mark.parametrize(
    ("end", "said"),
    [(None, "stopped, at offset 1"), (ReportedEnd(2, 1 << 62, 4), "stopped, at offset 1")],
)
def test_a_stop_leaves_a_read_open(harness: Harness, end: ReportedEnd | None, said: str) -> None:
    reader = harness.reader(racks=True)
    assert reader.move(LOG)
    harness.script.append(([0], end))
    reader.read(LOG)
    (found,) = harness.reads()
    assert (found["type"], found["error"]) == ("info", said)


def test_silence_of_the_follower_ends_a_read_with_an_error(harness: Harness) -> None:
    reader = harness.reader(racks=True)
    assert reader.move(LOG)
    forever = cast("deque[Step]", Forever())
    harness.consumers[-1]._script = forever
    reader.read(LOG)
    (found,) = harness.reads()
    assert (found["type"], found["error"]) == ("info", "no broker reported an end within 0.6 s, at offset 0")


class Forever:
    """A script of polls that return nothing."""

    def popleft(self) -> Step:
        return [], None


def test_a_new_client_has_one_log_and_a_rack_and_goes_on_where_the_session_was(harness: Harness) -> None:
    reader = harness.reader(racks=True)
    assert reader.move(LOG)
    harness.script.append(([0, 1], ReportedEnd(2, 1 << 62, 2)))
    reader.read(LOG)
    assert reader.move(OTHER)
    assert reader.move(LOG)
    made = [(each.rack, each.positions, each.assignment) for each in harness.consumers]
    assert made == [
        (None, {LOG: 0, OTHER: 0}, 0), ("rack-0", {LOG: 2}, 1), ("rack-1", {OTHER: 0}, 2), ("rack-0", {LOG: 2}, 3),
    ]  # fmt: skip


def test_a_reader_of_leaders_keeps_all_its_logs(harness: Harness) -> None:
    reader = harness.reader()
    reader.renew()
    assert [each.positions for each in harness.consumers] == [{LOG: 0, OTHER: 0}] * 2


def test_a_partition_that_was_added_is_read_from_its_first_record(
    harness: Harness, brokers: FakeBrokers
) -> None:
    added = ("t", 2)
    reader = harness.reader(end=1)
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 1)}
    reader.read(added)
    assert harness.consumers[-1].positions.keys() == {LOG, OTHER, added}
    assert harness.consumers[-1].assignment == 1
    assert reader.move(added)
    assert [*harness.consumers[-1].positions] == [added]
