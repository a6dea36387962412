"""Stale reads: clients read from a deposed leader, or from a follower that lacked what was acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzers.causes.evidence import Change, LogEvidence, RunEvidence, Sample, span_of
from analyzers.causes.explainer import SAMPLES, SOURCES, CauseKind, Explainer, Explanation, by_log
from analyzers.causes.words import MOST_FAULTS, braces, election_text, fault_steps, leader_before
from analyzers.verdict.finding import Election, Step

OF_TWO_LEADERS = frozenset(
    {"read-your-writes", "monotonic-reads", "writes-follow-reads", "realtime-order", "read-above-lso"}
)
"""What reading from a deposed leader can show as."""

DEPOSED_LEADER = CauseKind(
    name="two leaders",
    happened="two leaders",
    changes="application",
    explains=OF_TWO_LEADERS,
    established="A broker still regarded itself as leader while another one led, and reads at that time were stale.",
    why="a leader that is cut off answers fetches until it learns of its successor",
    change="readers that need the newest data check the leader epoch; Kafka gives no linearizable reads",
    source="KIP-320: fencing by leader epoch",
)


def two_leaders(evidence: LogEvidence, run: RunEvidence) -> Iterator[Explanation]:
    """The first deposed leader that answered during findings of this log."""
    affected = [
        each for each in evidence.extents if each.anomaly in OF_TWO_LEADERS and each.first is not None
    ]
    for deposed, elected in _overlaps(evidence.changes):
        explained = [
            each
            for each in affected
            if (each.first or 0) <= deposed.time and (each.last or each.first or 0) >= elected.time
        ]
        if not explained:
            continue
        election = Election(
            leader=elected.leader, epoch=elected.epoch, time=run.at(elected.time), isr=elected.isr
        )
        events = run.active(elected.time, deposed.time)
        steps = [
            *fault_steps(events[:MOST_FAULTS], run),
            Step(time=election.time, text=election_text(election, evidence.log)),
            Step(
                time=run.at(deposed.time),
                text=f"broker {deposed.node} still regarded itself as leader of epoch {deposed.epoch} until here",
            ),
        ]
        yield Explanation(
            kind=DEPOSED_LEADER, extents=explained, steps=steps, faults=events, election=election
        )
        return


def _overlaps(changes: Sequence[Change]) -> Iterator[tuple[Sample, Sample]]:
    """The last sample in which a deposed broker regarded itself as leader, and the first one of a later leader before
    that."""
    for change in changes:
        deposed = change.before
        if deposed is None or not deposed.leads or change.after.epoch <= deposed.epoch:
            continue
        elected = [
            each.after
            for each in changes
            if each.after.leads and each.after.epoch > deposed.epoch and each.after.time < deposed.time
        ]
        if elected:
            yield deposed, min(elected, key=lambda each: each.time)


TWO_LEADERS = Explainer(rank=20, kinds=(DEPOSED_LEADER,), examines=(SAMPLES,), explain=by_log(two_leaders))


OF_FOLLOWERS = frozenset({"read-your-writes", "monotonic-reads"})
"""What reading from a follower can show as."""

LAGGING_FOLLOWER = CauseKind(
    name="follower reads",
    happened="follower reads",
    changes="setting",
    explains=OF_FOLLOWERS,
    established="The broker that served a session's reads did not lead when they missed a write.",
    why="a rack-aware replica.selector.class lets a consumer with client.rack read from a follower that lags",
    change="leave client.rack unset for clients that have to find the newest writes: they read from the leader",
    source="KIP-392: fetch from followers",
)


def follower_reads(evidence: LogEvidence, run: RunEvidence) -> Iterator[Explanation]:
    """The follower that served the session when its findings began, unless it was the leader, or is unknown."""
    affected = [each for each in evidence.extents if each.anomaly in OF_FOLLOWERS]
    first, last = span_of(affected)
    if first is None:
        return
    last = first if last is None else last
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
    examines=(SAMPLES, SOURCES),
    explain=by_log(follower_reads),
)
