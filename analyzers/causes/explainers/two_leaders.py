"""Two leaders: a broker that had been replaced still regarded itself as leader, and clients read from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzers.causes.evidence import Change, Explanation, LogEvidence, RunEvidence
from analyzers.causes.explainer import Explainer, by_log
from analyzers.causes.kind import CauseKind
from analyzers.causes.records import SAMPLES
from analyzers.causes.words import MOST_FAULTS, election_text, fault_steps
from analyzers.verdict.cause import Election, Step

CONSEQUENCES = frozenset(
    {"read-your-writes", "monotonic-reads", "writes-follow-reads", "realtime-order", "read-above-lso"}
)
"""What reading from a deposed leader can show as."""

DEPOSED_LEADER = CauseKind(
    name="two leaders",
    happened="two leaders",
    changes="application",
    explains=CONSEQUENCES,
    established="A broker still regarded itself as leader while another one led, and reads at that time were stale.",
    why="a leader that is cut off answers fetches until it learns of its successor",
    change="readers that need the newest data check the leader epoch; Kafka gives no linearizable reads",
    source="KIP-320: fencing by leader epoch",
)


@dataclass(frozen=True, kw_only=True)
class _Overlap:
    """The time in which `old` still regarded itself as leader although another one led. Times in ns."""

    old: int
    old_epoch: int
    election: Change
    began: int
    ended: int


def two_leaders(evidence: LogEvidence, run: RunEvidence) -> Iterator[Explanation]:
    """The first deposed leader that answered during findings of this log."""
    affected = [each for each in evidence.extents if each.anomaly in CONSEQUENCES and each.first is not None]
    for overlap in _overlaps(evidence.changes):
        explained = [
            each
            for each in affected
            if (each.first or 0) <= overlap.ended and (each.last or each.first or 0) >= overlap.began
        ]
        if not explained:
            continue
        after = overlap.election.after
        election = Election(leader=after.leader, epoch=after.epoch, time=run.at(after.time), isr=after.isr)
        events = run.active(overlap.began, overlap.ended)
        steps = [
            *fault_steps(events[:MOST_FAULTS], run),
            Step(time=election.time, text=election_text(election, evidence.log)),
            Step(
                time=run.at(overlap.ended),
                text=f"broker {overlap.old} still regarded itself as leader of epoch {overlap.old_epoch} until here",
            ),
        ]
        yield Explanation(
            kind=DEPOSED_LEADER, extents=explained, steps=steps, faults=events, election=election
        )
        return


def _overlaps(changes: Sequence[Change]) -> list[_Overlap]:
    found = []
    for change in changes:
        before, after = change.before, change.after
        if before is None or not before.leads or after.epoch <= before.epoch:
            continue
        elected = [
            each
            for each in changes
            if each.after.leads and each.after.epoch > before.epoch and each.after.time < before.time
        ]
        if elected:
            first = min(elected, key=lambda each: each.after.time)
            found.append(
                _Overlap(
                    old=before.node,
                    old_epoch=before.epoch,
                    election=first,
                    began=first.after.time,
                    ended=before.time,
                )
            )
    return found


TWO_LEADERS = Explainer(rank=20, kinds=(DEPOSED_LEADER,), examines=(SAMPLES,), explain=by_log(two_leaders))
