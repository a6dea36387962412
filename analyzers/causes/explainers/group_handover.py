"""Group handover: a group went on without a member that was paused or cut off, and that came back later."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from analyzers.causes.evidence import Extent, RunEvidence
from analyzers.causes.explainer import (
    ASSIGNMENTS,
    FORMER_MEMBER,
    PAUSED_MEMBER,
    CauseKind,
    Explainer,
    Explanation,
    first_kind,
)
from analyzers.causes.words import MOST_FAULTS, fault_steps
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Step
from analyzers.verdict.wording import client_name

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

KINDS = (
    CauseKind(
        name="commits without the membership",
        happened="group handover",
        changes="application",
        explains=HANDOVER,
        established="A fault held a member of a group or cut it off, the group went on without it, and a commit of "
        "it was accepted when it came back.",
        circumstance=FORMER_MEMBER,
        why="a commit without member id and generation does not show the broker that its sender was replaced",
        change="pass the consumer's group metadata to sendOffsetsToTransaction, not only the name of the group",
        source="KIP-447: fencing of group members in transactions",
    ),
    CauseKind(
        name="work after the partition was lost",
        happened="group handover",
        changes="application",
        explains=HANDOVER,
        established="A group went on while a fault held one of its members or cut it off, or such a member acted "
        "when it came back.",
        why="a group goes on without a member that misses session.timeout.ms; the member learns of it only later",
        change="commit in on_partitions_revoked, and treat on_partitions_lost as lost: others own the partition then",
        source="KIP-62 (heartbeats), KIP-429 (onPartitionsLost)",
    ),
)


def group_handover(run: RunEvidence) -> Iterator[Explanation]:
    """What a group shows while a fault holds one of its members, and what that member does later."""
    by_extent = [(each, _holding(each, run)) for each in run.extents if each.anomaly in HANDOVER]
    explained = [each for each, holding in by_extent if holding]
    if not explained:
        return
    held = [event for event in run.events if any(event in holding for _, holding in by_extent)]
    shown = held[:MOST_FAULTS]
    is_former = any(each.anomaly == "unfenced-commit" for each in explained)
    groups = {group for each in explained for group in _groups(each, run)}
    circumstances = (FORMER_MEMBER, PAUSED_MEMBER) if is_former else (PAUSED_MEMBER,)
    yield Explanation(
        kind=first_kind(KINDS, circumstances, run.settings),
        extents=explained,
        circumstances=circumstances,
        faults=held,
        steps=(*fault_steps(shown, run), *_takeovers(shown, groups, run), *_first_findings(explained, run)),
    )


def _holding(extent: Extent, run: RunEvidence) -> list[FaultEvent]:
    """The faults that held a member of the group during the findings, or before them if the findings name that
    member."""
    members = _members(extent, run)
    return [
        event
        for event in run.events
        if _holds(event) and not members.isdisjoint(event.processes) and _may_show(event, extent, run)
    ]


def _holds(event: FaultEvent) -> bool:
    """A member that is cut off from other brokers than the coordinator of its group remains in the group."""
    brokers = event.options.get("brokers")
    return event.fault in HELD and (brokers is None or brokers.startswith("coordinator:"))


def _may_show(event: FaultEvent, extent: Extent, run: RunEvidence) -> bool:
    is_named = not {*event.processes}.isdisjoint(extent.processes)
    lasting = replace(event, heal=None) if is_named else event
    return bool(replace(run, events=[lasting]).active(extent.first, extent.last))


def _members(extent: Extent, run: RunEvidence) -> set[int]:
    """The clients that the findings name, and all members of their groups."""
    groups = _groups(extent, run)
    return {*extent.processes, *(each.process for each in run.assignments if each.group in groups)}


def _groups(extent: Extent, run: RunEvidence) -> set[str]:
    """Those of the members that the findings name. If they name none: those that were assigned the log."""
    named = {each.group for each in run.assignments if each.process in extent.processes}
    return named or {each.group for each in run.assignments if each.log == extent.log}


def _takeovers(held: Sequence[FaultEvent], groups: Collection[str], run: RunEvidence) -> Iterator[Step]:
    """Who else got partitions in these groups while members were held."""
    for event in held:
        for each in run.assignments:
            if each.group in groups and event.active(each.time) and each.process not in event.processes:
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


GROUP_HANDOVER = Explainer(
    rank=50,
    kinds=KINDS,
    examines=(ASSIGNMENTS,),
    explain=group_handover,
)
