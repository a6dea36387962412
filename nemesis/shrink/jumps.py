"""Several reductions at once: the way to the result is then one run instead of one for each."""

from __future__ import annotations

from collections.abc import Iterator

from nemesis.schedule import Schedule
from nemesis.shrink.candidate import C, key_of
from nemesis.shrink.reductions import Evidence, by_evidence, closer


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
