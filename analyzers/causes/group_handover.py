"""Group handover: a group went on without a member that was paused or cut off, and that came back later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from analyzers.causes.circumstance import FORMER_MEMBER, PAUSED_MEMBER
from analyzers.causes.evidence import Extent, RunEvidence, logs_of, merged
from analyzers.causes.words import MOST_FAULTS, fault_steps, in_order
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import Cause, Step
from analyzers.verdict.names import client_name

HANDOVER = frozenset(
    {
        "double-ownership",
        "group-skip",
        "commit-regression",
        "unfenced-commit",
        "excess-duplicates",
        "orphaned-partition",
        "duplicate-copy",
    }
)
"""Anomalies of consumer groups."""

HELD = frozenset({"pause-client", "isolate-client"})
"""Faults during which a group goes on without a member that is still alive."""


def group_handover(extents: Sequence[Extent], run: RunEvidence) -> Cause | None:
    """A fault that held a member while the group went on without it; None if no such fault explains the findings."""
    of_groups = [each for each in extents if each.anomaly in HANDOVER]
    held = [event for event in run.events if any(_explains(event, each, run) for each in of_groups)]
    if not held:
        return None
    told = held[:MOST_FAULTS]
    is_former = any(each.anomaly == "unfenced-commit" for each in of_groups)
    steps = [*fault_steps(told, run), *_takeovers(told, run), *_first_findings(of_groups, run)]
    return Cause(
        kind="group handover",
        logs=logs_of(of_groups),
        findings={name: each.count for name, each in merged(of_groups).items()},
        circumstances=(FORMER_MEMBER, PAUSED_MEMBER) if is_former else (PAUSED_MEMBER,),
        faults=tuple(event.event for event in held),
        steps=in_order(steps),
    )


def _explains(event: FaultEvent, extent: Extent, run: RunEvidence) -> bool:
    """Whether a member was held during the findings, or the findings name a member that had been held before them."""
    if event.fault not in HELD or not event.processes:
        return False
    is_named = not {*event.processes}.isdisjoint(extent.processes)
    lasting = replace(event, heal=None) if is_named else event
    return bool(replace(run, events=[lasting]).active(extent.first, extent.last))


def _takeovers(held: Sequence[FaultEvent], run: RunEvidence) -> Iterator[Step]:
    """Who else got partitions while members were held."""
    for event in held:
        for each in run.assignments:
            if event.active(each.time) and each.process not in event.processes:
                generation = "" if each.generation is None else f" in generation {each.generation}"
                start = "" if each.start is None else f", starting at offset {each.start:,}"
                text = f"{client_name(each.process, run.clients)} is assigned {each.log}{generation}{start}"
                yield Step(time=run.at(each.time), text=text)


def _first_findings(extents: Sequence[Extent], run: RunEvidence) -> Iterator[Step]:
    for each in extents:
        who = next((client_name(process, run.clients) for process in each.processes), None)
        by = "" if who is None else f", by {who}"
        text = f"the first {each.anomaly}{by}"
        if each.anomaly == "duplicate-copy" and each.processes:
            senders = " and ".join(client_name(process, run.clients) for process in each.processes)
            text = f"the first duplicate-copy, sent by {senders}"
        if each.anomaly == "unfenced-commit" and who is not None:
            text = f"{who} commits although its group has replaced it, and the commit is accepted"
        yield Step(time=run.at(each.first), text=text)
