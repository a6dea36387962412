"""The final read: it reaches the end that it was given, also where retention goes on meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.worker_context import rows_on_disk, worker_context
from workloads.clients.protocol import Log, LostPosition, Polled, PolledRecords
from workloads.payload import encode
from workloads.roles.context import WorkerContext
from workloads.roles.final_read import read_finally

LOG = ("t", 0)


class ShrinkingLog:
    """A consumer and the leaders of a log of which every poll removes two records from the beginning."""

    def __init__(self, end: int, *, answers: bool = True) -> None:
        self.start, self.end, self.answers = 1, end, answers
        self.positions: dict[Log, int] = {LOG: 0}
        self.assignment = 0

    def only(self, logs: tuple[Log, ...]) -> None: ...

    def close(self) -> None: ...

    def poll(self, timeout: float) -> PolledRecords:  # noqa: ARG002 - as the protocol's
        offset = self.positions[LOG]
        self.start, before = min(self.start + 2, self.end), self.start
        if not before <= offset < self.end:
            return PolledRecords()
        self.positions[LOG] += 1
        return PolledRecords.of([Polled(LOG, offset, 0, encode("r", *LOG, offset))])

    def lost(self) -> list[LostPosition]:
        return [LostPosition(LOG, self.positions[LOG])] if self.positions[LOG] < self.start else []

    def seek(self, log: Log, offset: int) -> None:
        self.positions[log] = offset

    def leader_epoch(self, log: Log) -> int:  # noqa: ARG002
        return 0

    def offset(self, log: Log, *, at: int, epoch: int, limit: float) -> int:  # noqa: ARG002
        if not self.answers:
            raise TimeoutError("no leader")
        return self.start


@pytest.fixture
def context(tmp_path: Path) -> Iterator[WorkerContext]:
    context = worker_context(tmp_path, "final", {"ends": {"t": {"0": [0, 9]}}, "limit": 5.0}, topics={"t": 1})
    context.go.set()
    yield context
    context.close()


def final_read(context: WorkerContext, log: ShrinkingLog, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(context, "consumer", lambda start: log)  # noqa: ARG005
    monkeypatch.setattr(context, "leaders", lambda: log)
    read_finally(context)
    context.flush()
    (row,) = rows_on_disk(context.home)
    return row


def test_it_goes_on_at_the_new_start_of_the_log(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = final_read(context, ShrinkingLog(9), monkeypatch)
    assert (row["type"], row["end_offset"]) == ("ok", 9)
    assert row["start_offset"] == 9, "the last start that the leader reported: nothing is promised below it"


def test_without_the_leaders_answer_it_does_not_leave_out_anything(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.options["limit"] = 0.2
    row = final_read(context, ShrinkingLog(9, answers=False), monkeypatch)
    assert (row["type"], row["start_offset"]) == ("info", 0)
    assert row["error"] == "end not reached within 0.2 s, at offset 0"
