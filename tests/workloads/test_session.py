"""How a session goes on: reads until it has its own write, and new clients after some writes."""

from __future__ import annotations

import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from workloads.clients.protocol import Log
from workloads.roles import session
from workloads.roles.context import WorkerContext

LOGS: list[Log] = [("t", 0), ("t", 1)]


class FakeSending:
    """Every send is acknowledged at the next offset of its log, if `acknowledges`."""

    def __init__(self, context: Any, events: list[str], *, acknowledges: bool = True) -> None:
        self.context, self.events, self.acknowledges = context, events, acknowledges
        self.ends: Counter[Log] = Counter()
        self.in_flight = 0

    def connect(self) -> bool:
        return True

    def send(self, logs: list[Log]) -> None:
        self.in_flight += 1
        (log,) = logs
        self.events.append(f"write {log[1]}")
        if self.acknowledges:
            self.in_flight = 0
            self.ends[log] += 1

    def collect(self, timeout: float) -> None:
        assert timeout > 0

    def drop(self) -> None:
        self.in_flight = 0
        self.events.append("drop")

    def replace(self) -> None:
        self.events.append("new producer")

    def acknowledged_end(self, log: Log) -> int:
        return self.ends[log]

    def finish(self, limit: float) -> None:
        assert limit > 0
        self.events.append("finish")


class FakeReader:
    """Finds a write with the second read after it. The run is stopped after `limit` reads."""

    def __init__(self, context: Any, sending: FakeSending, events: list[str], limit: int) -> None:
        self.context, self.sending, self.events, self.limit = context, sending, events, limit
        self.positions: Counter[Log] = Counter()
        self.tries: Counter[tuple[Log, int]] = Counter()

    def position(self, log: Log) -> int:
        return self.positions[log]

    def read(self, log: Log) -> None:
        end = self.sending.ends[log]
        self.tries[log, end] += 1
        if self.tries[log, end] > 1:
            self.positions[log] = end
        self.events.append(f"read {log[1]}")
        if self.events.count("read 0") + self.events.count("read 1") >= self.limit:
            self.context.stop.set()

    def move(self, log: Log) -> bool:
        self.events.append(f"move {log[1]}")
        return True

    def close(self) -> None:
        self.events.append("close")


def events_of(
    monkeypatch: pytest.MonkeyPatch, limit: int, *, first: int = 0, acknowledges: bool = True
) -> list[str]:
    events: list[str] = []
    options = {"read_from": "leader", "writes_per_client": 2, "first": first}
    context = SimpleNamespace(
        options=options,
        logs=LOGS,
        stop=threading.Event(),
        counts=Counter(),
        records=lambda: None,
        ready=lambda: None,
    )
    sending = FakeSending(context, events, acknowledges=acknowledges)
    reader = FakeReader(context, sending, events, limit)
    monkeypatch.setattr(session, "PAUSE", 0.001)
    monkeypatch.setattr(session, "Sending", lambda *_: sending)
    monkeypatch.setattr(session, "SessionReader", lambda *_, **__: reader)
    session.write_read_and_move(cast(WorkerContext, context))
    return events


def test_it_reads_until_it_has_its_write_and_moves_after_some(monkeypatch: pytest.MonkeyPatch) -> None:
    assert events_of(monkeypatch, 8) == [
        "move 0", "read 0", "write 0", "read 0", "read 0", "write 0", "read 0", "read 0", "new producer",
        "move 1", "read 1", "write 1", "read 1", "read 1", "new producer", "finish", "close",
    ]  # fmt: skip


def test_sessions_begin_with_different_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert events_of(monkeypatch, 1, first=3)[:2] == ["move 1", "read 1"]


def test_a_write_without_an_acknowledgement_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SEND_LIMIT", 0.01)
    assert events_of(monkeypatch, 3, acknowledges=False) == [
        "move 0", "read 0", "write 0", "drop", "read 0", "write 0", "drop", "read 0", "new producer", "finish",
        "close",
    ]  # fmt: skip


def test_a_write_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SEEN_LIMIT", 0)
    assert events_of(monkeypatch, 3)[:6] == ["move 0", "read 0", "write 0", "read 0", "write 0", "read 0"]
