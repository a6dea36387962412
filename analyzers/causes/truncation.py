"""Truncation: a replica dropped the end of its log, and what was there is gone or was replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analyzers.causes.circumstance import ABOVE_HIGH_WATERMARK, LAST_REPLICA, UNCLEAN_ELECTION
from analyzers.causes.evidence import Change, Extent, LogEvidence, RunEvidence, Sample
from analyzers.causes.words import MOST_FAULTS, braces, election_text, fault_steps, leader_before
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.cause import Cause, Cut, Election, Step
from analyzers.verdict.wording import count

PROOF = ("lost-write", "offset-reuse")
"""Findings that show where a log was cut, also if no sample caught it at its shortest."""

CONSEQUENCES = frozenset(
    {
        *PROOF, "inconsistent-offsets", "read-your-writes", "monotonic-reads", "monotonic-writes",
        "writes-follow-reads", "nonmonotonic-poll", "int-nonmonotonic-poll", "poll-skip", "int-poll-skip",
        "nonmonotonic-send", "int-nonmonotonic-send", "realtime-order", "torn-transaction",
    }
)  # fmt: skip
"""What a truncation can show as, at offsets from the cut on."""


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """A cut with the samples around it."""

    before: Sample
    after: Sample
    offset: int

    def covered(self, extents: Sequence[Extent]) -> int:
        """How many offsets of the findings lie in the part that was cut off."""
        return sum(
            max(0, min(self.before.log_end or 0, each.high + 1) - max(self.offset, each.low))
            for each in extents
            if each.low is not None and each.high is not None
        )


def truncation(evidence: LogEvidence, run: RunEvidence) -> Cause | None:
    """The truncation that the samples of a log show and its findings confirm; None if there is none."""
    proof = [each for each in evidence.extents if each.anomaly in PROOF]
    affected = [each for each in evidence.extents if each.anomaly in CONSEQUENCES]
    cuts = sorted(
        (cut for cut in _cuts(evidence, proof, run) if cut.covered(proof)),
        key=lambda cut: (not cut.before.leads, -cut.covered(proof), cut.after.time),
    )
    # A follower copies its leader's log again, whatever it loses itself: only the log of a leader counts.
    if not cuts or not cuts[0].before.leads:
        return None
    largest = cuts[0]
    explained = [each for each in affected if each.high is None or each.high >= largest.offset]
    election = _election(evidence.changes, largest.before)
    events = run.active(min((each.first for each in explained if each.first is not None), default=None),
                        largest.after.time)  # fmt: skip
    cause = Cause(
        kind="truncation",
        logs=(evidence.log,),
        findings={each.anomaly: each.count for each in explained},
        circumstances=tuple(_circumstances(evidence, largest, election)),
        faults=tuple(event.event for event in events),
        cuts=tuple(_public(cut, run) for cut in cuts),
        election=election and _seen_at(election, run),
    )
    steps = [
        *_steps(cause, evidence, largest, run),
        *fault_steps(_nearest(events, largest), run, _role(evidence, largest, events)),
    ]
    ordered = sorted(steps, key=lambda step: (step.time is None, step.time or 0.0))
    return Cause(**{**vars(cause), "steps": tuple(ordered)})


def _cuts(evidence: LogEvidence, proof: Sequence[Extent], run: RunEvidence) -> list[_Cut]:
    """Every cut that samples show. One that is shorter than the time between two samples shows in the findings."""
    lowest = min((each.low for each in proof if each.low is not None), default=None)
    recreated = [event for event in run.events if event.fault == "recreate_topic"]
    led: dict[int, Sample] = {}
    cuts: dict[tuple[int, int], _Cut] = {}
    for change in evidence.changes:
        before, after = change.before, change.after
        last_led = before if before is not None and before.leads else led.get(after.node)
        led |= {each.node: each for each in (last_led, after) if each is not None and each.leads}
        if before is None or before.log_end is None:
            continue
        if any(event.active(after.time) for event in recreated):
            continue  # The new topic has another log.
        # A broker that already follows its successor may not have cut its log yet.
        leading = replace(last_led or before, log_end=before.log_end)
        key = before.node, before.log_end
        if after.log_end is not None and after.log_end < before.log_end:
            cuts[key] = _Cut(before=leading, after=after, offset=after.log_end)
        elif before.leads and lowest is not None and _is_overruled(evidence.changes, before, after, lowest):
            cuts[key] = _Cut(before=leading, after=after, offset=lowest)
    return list(cuts.values())


def _is_overruled(changes: Sequence[Change], before: Sample, after: Sample, lowest: int) -> bool:
    """Whether a leader came to follow another one that does not have its records from `lowest` on: its own log ended
    there, or the old leader's high watermark was not above."""
    if after.leads or after.epoch <= before.epoch or before.log_end is None:
        return False
    election = _election(changes, before)
    shorter = (
        election is not None and election[1].log_end is not None and election[1].log_end < before.log_end
    )
    return shorter or (before.high_watermark is not None and before.high_watermark <= lowest)


def _election(changes: Sequence[Change], deposed: Sample) -> tuple[Sample, Sample] | None:
    """The first sample that shows the leader after this one, and the first of the new leader itself."""
    epochs = [each.after for each in changes if each.after.epoch > deposed.epoch and each.after.leader >= 0]
    if not epochs:
        return None
    epoch = min(each.epoch for each in epochs)
    of_epoch = [each for each in epochs if each.epoch == epoch]
    first = min(of_epoch, key=lambda each: each.time)
    own = [each for each in of_epoch if each.leads]
    return first, min(own, key=lambda each: each.time, default=first)


def _seen_at(election: tuple[Sample, Sample], run: RunEvidence) -> Election:
    first, own = election
    return Election(leader=first.leader, epoch=first.epoch, time=run.at(first.time), isr=own.isr)


def _circumstances(evidence: LogEvidence, cut: _Cut, election: tuple[Sample, Sample] | None) -> Iterator[str]:
    isr = _isr_before(evidence, cut, election)
    if election is not None and isr and election[0].leader not in isr:
        yield UNCLEAN_ELECTION
    if isr == (cut.before.node,):
        yield LAST_REPLICA
    lost = next((each for each in evidence.extents if each.anomaly == "lost-write"), None)
    mark = cut.before.high_watermark
    if mark is not None and lost is not None and lost.low is not None and lost.low >= mark:
        yield ABOVE_HIGH_WATERMARK


def _isr_before(evidence: LogEvidence, cut: _Cut, election: tuple[Sample, Sample] | None) -> tuple[int, ...]:
    """The last ISR that was seen before the election. A leader that is cut off may see another ISR than the
    controller has, so other brokers are preferred."""
    limit = election[0].time if election is not None else cut.after.time
    seen = [
        sample
        for change in evidence.changes
        for sample in (change.before, change.after)
        if sample is not None and sample.time < limit and sample.isr
    ]
    others = [sample for sample in seen if sample.node != cut.before.node]
    last = max(others or seen, key=lambda sample: (sample.epoch, sample.time), default=None)
    return last.isr if last is not None else ()


def _nearest(events: Sequence[FaultEvent], cut: _Cut) -> list[FaultEvent]:
    """The faults that the steps name: those on the replica that was cut; if there are none, the first ones."""
    own = [event for event in events if cut.before.node in event.nodes]
    return (own or list(events))[:MOST_FAULTS]


def _role(evidence: LogEvidence, cut: _Cut, events: Sequence[FaultEvent]) -> str:
    began = next((event.began for event in events if cut.before.node in event.nodes), None)
    leader = leader_before(evidence.changes, began)
    if began is None or leader is None or leader[0] != cut.before.node:
        return ""
    return f"(leader of {evidence.log}, epoch {leader[1]})"


def _steps(cause: Cause, evidence: LogEvidence, cut: _Cut, run: RunEvidence) -> Iterator[Step]:
    by_name = {each.anomaly: each for each in evidence.extents}
    lost = by_name.get("lost-write")
    if lost is not None:
        what = f"the first of {count(lost.count, 'acknowledged write')} that will be lost"
        offsets = "" if lost.low is None or lost.high is None else f", offsets {lost.low:,} to {lost.high:,}"
        until = run.at(lost.last)
        last = "" if until is None or lost.count == 1 else f"; the last at {until:,.1f} s"
        yield Step(time=run.at(lost.first), text=f"{what}{offsets}{last}")
    if LAST_REPLICA in cause.circumstances:
        for change in evidence.changes:
            if change.after.isr == (cut.before.node,) and change.after.time < cut.after.time:
                text = f"ISR {braces(change.after.isr)}: broker {cut.before.node} is the only in-sync replica"
                yield Step(time=run.at(change.after.time), text=text)
                break
    if cause.election is not None:
        text = election_text(cause.election, evidence.log, offset=cut.offset)
        if UNCLEAN_ELECTION in cause.circumstances:
            text += "; it was not in the ISR"
        yield Step(time=cause.election.time, text=text)
    follows = cut.after.leader >= 0 and not cut.after.leads
    how = f"follows broker {cut.after.leader} and has cut" if follows else "has lost the end of"
    back = "its log back" if follows else "its log, which goes back"
    text = f"broker {cut.before.node} {how} {back} from {cut.before.log_end:,} to {cut.offset:,}"
    yield Step(time=run.at(cut.after.time), text=text)


def _public(cut: _Cut, run: RunEvidence) -> Cut:
    return Cut(
        node=cut.before.node,
        log_end=cut.before.log_end or 0,
        offset=cut.offset,
        epoch=cut.before.epoch,
        time=run.at(cut.after.time),
    )
