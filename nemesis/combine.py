"""Small ways to put events together. Each takes events, or lists of them, and gives a list."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from nemesis.schedule import Event

Events = Event | Iterable[Event]


def sequence(*parts: Events, at: float = 0.0, gap: float = 0.0) -> list[Event]:
    """One part after another, each `gap` seconds after the end of the one before; the first begins at `at`."""
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
    _whole("repeat times", times)
    events = _list(part)
    return sequence(*(_anew(events, number) for number in range(times)), at=at, gap=gap)


def every(seconds: float, part: Events, *, times: int, at: float = 0.0) -> list[Event]:
    """The same so many times, beginning every so many seconds, whether or not the one before has ended."""
    _whole("every times", times)
    _least("every seconds", seconds, 0)
    events = _list(part)
    return [
        event for number in range(times) for event in _begin(_anew(events, number), at + number * seconds)
    ]


def storm(*parts: Events, length: float, each: float = 1.0, at: float = 0.0) -> list[Event]:
    """The parts in turn, one beginning every `each` seconds, until `length` seconds are over."""
    _least("storm each", each, 0.01)
    _least("storm length", length, 0)
    _least("storm parts", len(parts), 1)
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
    events = _list(part)
    first = min((event.at for event in events), default=0.0)
    return [replace(event, at=event.at - first + at) for event in events]


def _list(part: Events) -> list[Event]:
    return [part] if isinstance(part, Event) else list(part)


def _anew(events: list[Event], number: int) -> list[Event]:
    """A copy; only the first one keeps its ids, for two events cannot have the same."""
    return [replace(event, id=event.id if number == 0 else "") for event in events]


def _least(what: str, value: float, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.inf > value >= least:
        raise ValueError(f"{what}={value!r}: expected a number, {least:g} or more")


def _whole(what: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{what}={value!r}: expected a whole number, 1 or more")
