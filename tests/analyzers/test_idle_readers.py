"""Which readers may have stalled, as far as the counts of a run tell."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from analyzers.judge.readers import has_idle_reader

SECOND = 10**9


class Polled(NamedTuple):
    got: int | None
    process: int = 1
    topic: str = "t"
    partition: int = 0
    final: bool = False


class Told(NamedTuple):
    f: str
    invoked: int
    value: str


def told(f: str, at: float, **fields: Any) -> Told:
    return Told(f, int(at * SECOND), json.dumps({"process": 1, **fields}))


def worker(event: str, at: float, **fields: Any) -> Told:
    return told("worker", at, event=event, **fields)


FINAL = Told("phase", 18 * SECOND, '{"phase": "final"}')
STARTED, STOPPED = worker("started", 0, poll_limit=5.0), worker("stopped", 20)


@pytest.mark.parametrize(
    ("operations", "polled", "half", "idle"),
    [
        ([STARTED, STOPPED], [Polled(14 * SECOND)], 9, True),
        ([STARTED, STOPPED], [Polled(16 * SECOND)], 9, False),
        ([STARTED, STOPPED], [Polled(16 * SECOND)], 3, True),
        ([STARTED, STOPPED], [Polled(16 * SECOND)], None, False),
        ([STARTED, STOPPED, FINAL], [Polled(14 * SECOND)], 9, False),
        ([STARTED, STOPPED], [Polled(14 * SECOND), Polled(16 * SECOND)], 9, False),
        ([STARTED, STOPPED], [Polled(14 * SECOND), Polled(16 * SECOND, partition=1)], 9, True),
        ([STARTED, STOPPED], [Polled(14 * SECOND), Polled(16 * SECOND, final=True)], 9, True),
        ([STARTED, STOPPED], [Polled(14 * SECOND, process=2)], 9, False),
        ([STARTED, STOPPED], [Polled(None)], 9, False),
        ([worker("started", 0), STOPPED], [Polled(14 * SECOND)], 9, False),
        ([STARTED, worker("killed", 20)], [Polled(14 * SECOND)], 9, False),
        ([STARTED, STOPPED], [Polled(15 * SECOND)], 9, True),
        ([worker("started", 0, poll_limit=0.5), STOPPED], [Polled(19 * SECOND + SECOND // 4)], 9, True),
        ([STARTED, STOPPED, told("topic", 15, event="stopped")], [Polled(14 * SECOND)], 9, True),
        ([STARTED, STOPPED, told("step", 15, phase="final")], [Polled(14 * SECOND)], 9, True),
        ([STARTED, STOPPED, told("phase", 15, phase="steady")], [Polled(14 * SECOND)], 9, True),
    ],
)
def test_a_reader_is_idle_from_its_last_record_to_its_end(
    operations: list[Told], polled: list[Polled], half: int | None, idle: bool
) -> None:
    assert has_idle_reader(polled, operations, half=None if half is None else half * SECOND) is idle
