"""Follower reads: a session read from a replica that did not lead, and that lacked what was acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.causes.evidence import Explanation, LogEvidence, RunEvidence
from analyzers.causes.explainer import Explainer, by_log
from analyzers.causes.kind import CauseKind
from analyzers.causes.records import SAMPLES, SOURCES
from analyzers.causes.words import MOST_FAULTS, braces, fault_steps, leader_before
from analyzers.verdict.cause import Step

CONSEQUENCES = frozenset({"read-your-writes", "monotonic-reads"})
"""What reading from a follower can show as."""

LAGGING_FOLLOWER = CauseKind(
    name="follower reads",
    happened="follower reads",
    changes="setting",
    explains=CONSEQUENCES,
    established="The broker that served a session's reads did not lead when they missed a write.",
    why="a rack-aware replica.selector.class lets a consumer with client.rack read from a follower that lags",
    change="leave client.rack unset for clients that have to find the newest writes: they read from the leader",
    source="KIP-392: fetch from followers",
)


def follower_reads(evidence: LogEvidence, run: RunEvidence) -> Iterator[Explanation]:
    """The follower that served the session when its findings began, unless it was the leader, or is unknown."""
    affected = [each for each in evidence.extents if each.anomaly in CONSEQUENCES]
    first = min((each.first for each in affected if each.first is not None), default=None)
    if first is None:
        return
    last = max((each.last for each in affected if each.last is not None), default=first)
    leader = leader_before(evidence.changes, first)
    source = next((each for each in reversed(evidence.sources) if each.time <= first), None)
    if leader is None or source is None or source.node == leader[0]:
        return
    text = (
        f"a session reads from broker {source.node} and misses an acknowledged write, while broker {leader[0]} "
        f"leads {evidence.log}"
    )
    events = run.active(first, last)
    steps = [
        *fault_steps(events[:MOST_FAULTS], run),
        *_left_isr(evidence, source.node, run, last),
        Step(time=run.at(first), text=text),
        *([Step(time=run.at(last), text="the last of these reads")] if last > first else []),
    ]
    yield Explanation(kind=LAGGING_FOLLOWER, extents=affected, steps=steps, faults=events)


def _left_isr(evidence: LogEvidence, node: int, run: RunEvidence, last: int) -> Iterator[Step]:
    """When the leader dropped the follower from the ISR, which lets writes be acknowledged without it."""
    for change in evidence.changes:
        before, after = change.before, change.after
        is_dropped = before is not None and node in before.isr and node not in after.isr
        if is_dropped and after.leads and after.time <= last:
            text = f"ISR {braces(after.isr)}: writes are acknowledged without broker {node}"
            yield Step(time=run.at(after.time), text=text)


FOLLOWER_READS = Explainer(
    rank=30,
    kinds=(LAGGING_FOLLOWER,),
    examines=(
        SAMPLES,
        SOURCES,
    ),
    explain=by_log(follower_reads),
)
