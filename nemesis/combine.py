"""Functions that combine events. Each takes events or lists of events, and returns a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from nemesis.event import Event
from nemesis.validation import count, number, seconds

Events = Event | Iterable[Event]

MOST = 10_000
"""Repetitions. A longer schedule is a mistake, and takes too long to check: each event is compared with all others.
"""


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
    """The same part `times` times, one after another. Raises ValueError for fewer than one."""
    count("repeat times", times, most=MOST)
    events = _list(part)
    return sequence(*(_copied(events, turn) for turn in range(times)), at=at, gap=gap)


def every(seconds: float, part: Events, *, times: int, at: float = 0.0) -> list[Event]:
    """The same part `times` times. One begins every `seconds` seconds, whether or not the one before has ended."""
    count("every times", times, most=MOST)
    number("every seconds", seconds, least=0)
    number("Event.at", at)
    events = _list(part)
    return [event for turn in range(times) for event in _begin(_copied(events, turn), at + turn * seconds)]


def storm(*parts: Events, length: float, each: float = 1.0, at: float = 0.0) -> list[Event]:
    """The parts in turn, one beginning every `each` seconds, for `length` seconds."""
    number("storm each", each, least=0.01)
    number("storm length", length, least=0, most=MOST * each)
    number("Event.at", at)
    number("storm parts", len(parts), least=1)
    given = [_list(part) for part in parts]
    # Subtract a rounding error: 1.1 s have room for eleven parts of 0.1 s, but 1.1 / 0.1 is above 11 in floats.
    turns = range(max(1, math.ceil(length / each - 1e-9)))
    return [
        event
        for turn in turns
        for event in _begin(_copied(given[turn % len(given)], turn // len(given)), at + turn * each)
    ]


def _begin(part: Events, at: float) -> list[Event]:
    """The events, shifted in time so that the first one begins at `at`."""
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


def _copied(events: list[Event], number: int) -> list[Event]:
    """A copy. Only copy 0 keeps its ids, because ids are unique."""
    return [replace(event, id=event.id if number == 0 else "") for event in events]
