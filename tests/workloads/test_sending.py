"""What a process that sends remembers of its acknowledgements, through changing producers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.worker_context import worker_context
from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Completion, Log
from workloads.roles.context import WorkerContext
from workloads.roles.sending import Sending

LOG, OTHER = ("t", 0), ("t", 1)


class FakeProducer:
    """Acknowledges with rising offsets, and knows one epoch."""

    def __init__(self, epoch: int) -> None:
        self.epoch, self.asked, self.offset = epoch, 0, 10
        self.done: list[Completion] = []

    def send(self, op: int, log: Log, payload: bytes, _keyed: object = None) -> None:
        assert log
        assert payload
        self.done.append(Completion(op, time.monotonic_ns(), Outcome("ok", self.offset, None)))
        self.offset -= 1

    def take(self, timeout: float) -> list[Completion]:
        assert timeout > 0
        done, self.done = self.done, []
        return done

    def problem(self) -> None:
        return None

    def leader_epoch(self, log: Log) -> int:
        assert log
        self.asked += 1
        return self.epoch

    def close(self, timeout: float) -> list[Completion]:
        return self.take(timeout)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[WorkerContext]:
    options = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}}
    one = worker_context(tmp_path, "session", options, topics={"t": 2}, session=2)
    yield one
    one.close()


def sending(context: WorkerContext, monkeypatch: pytest.MonkeyPatch, *producers: FakeProducer) -> Sending:
    left = list(producers)
    monkeypatch.setattr(context, "producer", lambda **_: left.pop(0))
    return Sending(context, context.records())


def test_the_end_is_behind_the_highest_acknowledged_offset(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = sending(context, monkeypatch, FakeProducer(3))
    assert one.acknowledged_end(LOG) == 0
    one.send([LOG, LOG])
    one.collect(1)
    assert (one.acknowledged_end(LOG), one.acknowledged_end(OTHER)) == (11, 0)


@pytest.mark.parametrize("leave", [Sending.drop, Sending.replace])
def test_a_new_producer_does_not_forget_the_epoch_of_an_acknowledgement(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch, leave: Any
) -> None:
    """It may find the metadata of a broker that does not know of the last election."""
    known = (5, 3, -1, 4, 6)
    one = sending(context, monkeypatch, *map(FakeProducer, known))
    epochs = []
    for _ in known:
        one.send([LOG])
        one.collect(1)
        epochs.append(one.leader_epoch(LOG))
        leave(one)
        epochs.append(one.leader_epoch(LOG))
    # One that cannot know the epoch of the last acknowledgement says -1; the next one can.
    assert epochs == [5, 5, 5, 5, -1, -1, 5, 5, 6, 6]


def test_brokers_are_not_asked_for_epochs_that_nobody_wants(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that exposes none asks all brokers for them."""
    producer = FakeProducer(5)
    one = sending(context, monkeypatch, producer)
    one.send([LOG])
    one.collect(1)
    one.finish(1)
    assert producer.asked == 0
