"""Sentences about how often experiments show the anomaly."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.shrink.rate import RELIABLE
from nemesis.shrink.runs import Measured, Shrunk
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate

Result = Shrunk[ExperimentCandidate]


def rate_of(shrunk: Result) -> str:
    """Such as ``5 of 5 runs``: what is known about the rate of the result."""
    if not shrunk.runs:
        return "the run that selected it, so its rate is unknown"
    rate = f"{shrunk.hits} of {shrunk.runs} runs"
    if not shrunk.confirmed:
        return f"{rate} so far, too few to rely on"
    if shrunk.is_reliable:
        return rate
    if shrunk.hits < RELIABLE * shrunk.runs:
        return f"{rate}, less often than 4 of 5"
    return f"{rate}, probably by luck, for a larger one shows it less often"


def doubts(shrunk: Result) -> list[str]:
    """Where the result is not reliable, how often larger experiments showed the anomaly."""
    if shrunk.is_reliable:
        return []
    return [f"a larger one: {measured(each)}" for each in reversed(shrunk.larger)]


def measured(each: Measured[ExperimentCandidate]) -> str:
    events = describe(each.candidate)
    why = "" if each.why in events else f" ({each.why})"
    return f"{events}{why}, reproduced in {each.hits} of {each.runs} runs"


def describe(candidate: ExperimentCandidate) -> str:
    """Such as ``isolate-2 for 7 s``."""
    return ", ".join(map(_lasting, candidate.schedule.events)) or "no fault"


def _lasting(event: Event) -> str:
    return event.id if event.fault.momentary else f"{event.id} for {event.lasting:g} s"
