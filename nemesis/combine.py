"""Small ways to put events together. Each takes events, or lists of them, and gives a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from nemesis.schedule import Event
from nemesis.validation import count, number, seconds

Events = Event | Iterable[Event]

MOST = 10_000
"""Turns: more events than that nobody can look through, and no machine put in order."""


def sequence(*parts: Events, at: float = 0.0, gap: float = 0.0) -> list[Event]:
    """One part after another, each `gap` seconds after the end of the one before; the first begins at `at`."""
    seconds("sequence gap", gap)
    placed: list[Event] = []
    for part in parts:
        moved = _begin(part, at)
        placed += moved
        at = max((event.end for event in moved), default=at) + gap
    return placed


def overlap(*parts: Events, at: float = 0.0) -> list[Event]:
    """All parts begin at `at`."""
    return [event for part in parts for event in _begin(part, at)]


def repeat(times: int, part: Events, *, at: float = 0.0, gap: float = 0.0) -> list[Event]:
    """The same so many times, one after another. Raises ValueError for less than one time."""
    count("repeat times", times, most=MOST)
    events = _list(part)
    return sequence(*(_anew(events, turn) for turn in range(times)), at=at, gap=gap)


def every(seconds: float, part: Events, *, times: int, at: float = 0.0) -> list[Event]:
    """The same so many times, beginning every so many seconds, whether or not the one before has ended."""
    count("every times", times, most=MOST)
    number("every seconds", seconds, least=0)
    number("Event.at", at)
    events = _list(part)
    return [event for turn in range(times) for event in _begin(_anew(events, turn), at + turn * seconds)]


def storm(*parts: Events, length: float, each: float = 1.0, at: float = 0.0) -> list[Event]:
    """The parts in turn, one beginning every `each` seconds, until `length` seconds are over."""
    number("storm each", each, least=0.01)
    number("storm length", length, least=0, most=MOST * each)
    number("Event.at", at)
    number("storm parts", len(parts), least=1)
    given = [_list(part) for part in parts]
    # Less a trifle: 0.3 s hold three turns of 0.1 s, whatever floats say.
    turns = range(max(1, math.ceil(length / each - 1e-9)))
    return [
        event
        for turn in turns
        for event in _begin(_anew(given[turn % len(given)], turn // len(given)), at + turn * each)
    ]


def _begin(part: Events, at: float) -> list[Event]:
    """Moved in time, so that the first one begins at `at`."""
    seconds("Event.at", at)
    events = _list(part)
    first = min((event.at for event in events), default=0.0)
    return [replace(event, at=event.at - first + at) for event in events]


def _list(part: Events) -> list[Event]:
    if isinstance(part, Event):
        return [part]
    events = None if isinstance(part, (str, bytes, Mapping)) or not isinstance(part, Iterable) else list(part)
    if events is None or not all(isinstance(event, Event) for event in events):
        raise ValueError(
            f"{part!r}: expected an event such as kill('leader', lasting=3), or a list of events"
        )
    return events


def _anew(events: list[Event], number: int) -> list[Event]:
    """A copy; only the first one keeps its ids, for two events cannot have the same."""
    return [replace(event, id=event.id if number == 0 else "") for event in events]
