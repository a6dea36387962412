"""Smaller schedules that may have the same effect as a given one, the smallest first, and how parts are removed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from nemesis.event import Event
from nemesis.schedule import Schedule
from nemesis.shrink.runs import C, key_of

LEAD = 2.0
"""Seconds of load before the first event, so that there are records to lose."""

GAP = 2.0
"""Seconds between events that do not overlap, so that the cluster can recover in between."""

FLOOR = 1.0
"""Seconds. No event is made shorter than that."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a run shows about the cause of its anomaly.

    suspects  ids of events that were at work when the anomaly was first seen; empty when that is unknown.
    later     ids of events that began after that.
    """

    suspects: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()


def by_evidence(schedule: Schedule, evidence: Evidence) -> Iterator[tuple[str, Schedule]]:
    """Only suspects; all events but later ones; suspects with later ones, because a loss may need both."""
    ids = {event.id for event in schedule.events}
    suspects, later = evidence.suspects & ids, evidence.later & ids
    proposals = (
        ("only events at work when it was first seen", suspects),
        ("no event that began later", ids - later),
        ("no event that was over before", suspects | later),
    )
    for why, kept in proposals:
        if suspects <= kept and 0 < len(kept) < len(ids):
            yield why, only(schedule, kept)


def classes(schedule: Schedule, suspects: Collection[str]) -> list[frozenset[str]]:
    """Ids of events by their fault: groups with suspects first, then larger groups first."""
    by_fault: dict[str, set[str]] = {}
    for event in schedule.events:
        by_fault.setdefault(event.fault.name, set()).add(event.id)
    order = sorted(
        by_fault, key=lambda name: (not by_fault[name] & set(suspects), -len(by_fault[name]), name)
    )
    return [frozenset(by_fault[name]) for name in order]


def only(schedule: Schedule, ids: Collection[str]) -> Schedule:
    return Schedule(tuple(event for event in schedule.events if event.id in ids))


def closer(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """Without idle time, then only with an earlier beginning. Overlapping events keep their distance in time."""
    for why, gap in (("no idle time", GAP), ("an earlier beginning", float("inf"))):
        moved = _closed(schedule, gap)
        if moved != schedule:
            yield why, moved


def shorter(schedule: Schedule, ids: Collection[str]) -> Schedule | None:
    """These events with half their duration, at least `FLOOR` seconds; None where that changes nothing."""
    events = tuple(_halved(event) if event.id in ids else event for event in schedule.events)
    return Schedule(events) if events != schedule.events else None


def _halved(event: Event) -> Event:
    if event.fault.momentary or event.lasting <= FLOOR:
        return event
    return replace(event, lasting=max(FLOOR, round(event.lasting / 2, 1)))


def _closed(schedule: Schedule, gap: float) -> Schedule:
    # Events with a trigger begin when the trigger comes, and are not moved.
    timed = sorted((event for event in schedule.events if event.after is None), key=lambda event: event.at)
    earlier: dict[str, float] = {}
    end, shift = 0.0, 0.0
    for number, event in enumerate(timed):
        idle, allowed = event.at - end, LEAD if number == 0 else gap
        if idle > allowed:
            shift += idle - allowed
        earlier[event.id] = shift
        end = max(end, event.end)
    return Schedule(
        tuple(
            replace(event, at=round(event.at - earlier[event.id], 3)) if earlier.get(event.id) else event
            for event in schedule.events
        )
    )


def jumps(start: C, evidence: Evidence) -> Iterator[tuple[str, C]]:
    """The start without idle time and as simple as possible: with the suspects only, then with all events."""
    suspects = next((schedule for _, schedule in by_evidence(start.schedule, evidence)), None)
    proposals = [("as simple as possible", start.schedule)]
    if suspects is not None:
        proposals.insert(0, ("only events at work when it was first seen, as simple as possible", suspects))
    for why, schedule in proposals:
        try:
            candidate = simplest(start.scheduled(_closest(schedule)))
        except ValueError:
            continue
        if key_of(candidate.to_json()) != key_of(start.to_json()):
            yield why, candidate


def simplest(candidate: C) -> C:
    """With the first of its simpler forms, as long as there is one that was not met before."""
    met: set[str] = set()
    while True:
        met.add(key_of(candidate.to_json()))
        simpler = next((each for _, each in candidate.simpler() if key_of(each.to_json()) not in met), None)
        if simpler is None:
            return candidate
        candidate = simpler


def _closest(schedule: Schedule) -> Schedule:
    return next((moved for _, moved in closer(schedule)), schedule)


T = TypeVar("T")


def ddmin(parts: Sequence[T], holds: Callable[[Sequence[T]], bool], *, nothing: bool = False) -> list[T]:
    """Parts, in their order, none of which can be removed alone. The property is assumed to hold for all parts
    together.

    holds    whether the property holds for some parts, which are given in their order. Passes on what it raises.
    nothing  whether to try no parts at all when one is left.
    Earlier parts are more likely to matter: the first half is tried first, and the last parts are removed first.
    """
    left, pieces = list(parts), 2
    while len(left) > 1:
        cut = _cut(left, pieces)
        # If no half is enough, no quarter is: smaller pieces are only removed, and not tried alone.
        half = next((piece for piece in cut if holds(piece)), None) if len(cut) == 2 else None
        if half is not None:
            left, pieces = half, 2
            continue
        rests = ([*_flat(cut[:number]), *_flat(cut[number + 1 :])] for number in reversed(range(len(cut))))
        rest = next((rest for rest in rests if holds(rest)), None) if len(cut) > 2 else None
        if rest is not None:
            left, pieces = rest, max(len(cut) - 1, 2)
        elif len(cut) == len(left):
            break
        else:
            pieces = min(2 * len(cut), len(left))
    return [] if nothing and len(left) == 1 and holds([]) else left


def _cut(parts: list[T], pieces: int) -> list[list[T]]:
    ends = [round(number * len(parts) / pieces) for number in range(pieces + 1)]
    return [parts[begin:end] for begin, end in pairwise(ends) if begin < end]


def _flat(pieces: list[list[T]]) -> list[T]:
    return [part for piece in pieces for part in piece]
