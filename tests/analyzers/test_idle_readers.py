"""Which readers may have stalled, as far as the counts of a run tell."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from analyzers.judge.idle_readers import has_idle_reader

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


def worker(event: str, at: float, **fields: Any) -> Told:
    return Told("worker", int(at * SECOND), json.dumps({"event": event, "process": 1, **fields}))


FINAL = Told("phase", 18 * SECOND, '{"phase": "final"}')
STARTED, STOPPED = worker("started", 0, poll_limit=5.0), worker("stopped", 20)


@pytest.mark.parametrize(
    ("told", "polled", "half", "idle"),
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
    ],
)
def test_a_reader_is_idle_from_its_last_record_to_its_end(
    told: list[Told], polled: list[Polled], half: int | None, idle: bool
) -> None:
    assert has_idle_reader(polled, told, half=None if half is None else half * SECOND) is idle
