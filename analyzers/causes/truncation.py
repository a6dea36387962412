"""Truncation: a replica dropped the end of its log, and what was there is gone or was replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from analyzers.causes.circumstance import (
    ABOVE_HIGH_WATERMARK,
    ELIGIBLE_REPLICA,
    LAST_REPLICA,
    UNCLEAN_ELECTION,
)
from analyzers.causes.evidence import (
    Change,
    Explanation,
    Extent,
    LogEvidence,
    RunEvidence,
    Sample,
    merged,
)
from analyzers.causes.words import MOST_FAULTS, braces, election_text, fault_steps, in_order
from analyzers.history.fault_events import RECREATE, FaultEvent
from analyzers.verdict.cause import Cause, Cut, Election, Step
from analyzers.verdict.wording import count

PROOF = ("lost-write", "lost-read", "offset-reuse")
"""Findings that show where a log was cut, also if no sample caught it at its shortest."""

LOSSES = {
    "lost-write": ("acknowledged write", "will be lost"),
    "lost-read": ("value", "are read and will be lost"),
}
"""What a log no longer has: in words, for the steps. The worst first."""

MINIMUM = "min.insync.replicas"

ELECTS = "elect"
"""The fault that may elect a broker outside the ISR by hand."""

CONSEQUENCES = frozenset(
    {
        *PROOF, "inconsistent-offsets", "read-your-writes", "monotonic-reads", "monotonic-writes",
        "writes-follow-reads", "nonmonotonic-poll", "int-nonmonotonic-poll", "poll-skip", "int-poll-skip",
        "nonmonotonic-send", "int-nonmonotonic-send", "realtime-order", "overtaken-write", "torn-transaction",
        "wrong-total",
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


def truncations(evidence: LogEvidence, run: RunEvidence) -> Iterator[Explanation]:
    """The truncations that the samples of a log show and its findings confirm.

    Cuts in different periods of the run are different causes. Each explains the findings since the cut before it, and
    the last one also those that come later.
    """
    proof = [each for each in evidence.extents if each.anomaly in PROOF]
    cuts = sorted(
        (cut for cut in _cuts(evidence, proof, run) if cut.covered(proof)),
        key=lambda cut: (not cut.before.leads, -cut.covered(proof), cut.after.time),
    )
    rest = [each for each in evidence.extents if each.anomaly in CONSEQUENCES]
    # A follower copies its leader's log again, whatever it loses itself: only the log of a leader counts.
    periods = sorted({run.period(cut.after.time) for cut in cuts if cut.before.leads})
    for period in periods:
        largest, *others = (cut for cut in cuts if run.period(cut.after.time) == period)
        is_in_time = [each for each in rest if period == periods[-1] or each.period <= period]
        explained = [each for each in is_in_time if each.high is None or each.high >= largest.offset]
        if explained:
            yield Explanation(_cause(evidence, run, [largest, *others], merged(explained)), explained)
            rest = [each for each in rest if each not in explained]


def _cause(
    evidence: LogEvidence, run: RunEvidence, cuts: Sequence[_Cut], explained: Mapping[str, Extent]
) -> Cause:
    """cuts: the one of which the story tells first. explained: by anomaly."""
    lost = explained.get("lost-write")
    largest = _with_what_is_lost(cuts[0], explained)
    election = _election(evidence.changes, largest.before)
    first = min((each.first for each in explained.values() if each.first is not None), default=None)
    events = run.active(first, largest.after.time)
    cause = Cause(
        kind="truncation",
        logs=(evidence.log,),
        findings={name: each.count for name, each in explained.items()},
        circumstances=tuple(_circumstances(evidence, largest, election, run, lost)),
        faults=tuple(event.event for event in events),
        cuts=tuple(_public(cut, run) for cut in (largest, *cuts[1:])),
        election=election and _seen_at(election, run),
    )
    steps = [
        *_losses(explained, run),
        *_steps(cause, evidence, largest, run),
        *fault_steps(_nearest(events, largest), run, evidence),
    ]
    return replace(cause, steps=in_order(steps))


def _with_what_is_lost(cut: _Cut, explained: Mapping[str, Extent]) -> _Cut:
    """The leader had all that it acknowledged or gave to readers, so its log reached beyond what is lost of that,
    even where the last sample before the cut is older."""
    ends = [each.high + 1 for name, each in explained.items() if name in LOSSES and each.high is not None]
    return (
        replace(cut, before=replace(cut.before, log_end=max(cut.before.log_end or 0, *ends))) if ends else cut
    )


def _cuts(evidence: LogEvidence, proof: Sequence[Extent], run: RunEvidence) -> list[_Cut]:
    """Every cut that samples show. One that is shorter than the time between two samples shows in the findings."""
    recreated = [event for event in run.events if event.fault == RECREATE]
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
            successor = _end_of_successor(evidence.changes, before)
            known = [
                after.log_end,
                successor,
                _lowest(proof, run.period(after.time)) if _is_first(after, cuts) else None,
            ]
            offset = min(each for each in known if each is not None)
            cuts[key] = _Cut(before=leading, after=after, offset=offset)
            continue
        lowest = _lowest(proof, run.period(after.time))
        if before.leads and lowest is not None and _is_overruled(evidence.changes, before, after, lowest):
            cuts[key] = _Cut(before=leading, after=after, offset=lowest)
    return list(cuts.values())


def _is_first(after: Sample, cuts: Mapping[tuple[int, int], _Cut]) -> bool:
    """Whether a replica that leads has less than before, for the first time in this log.

    It may have appended new records before it was asked, so the findings show better where its log was cut."""
    return after.leads and not cuts


def _end_of_successor(changes: Sequence[Change], before: Sample) -> int | None:
    """Where the log of the next leader ended when it was first seen to lead; None if that was not seen.

    Others cut their logs there or below, and may have fetched more of its log by the time they are asked again.
    """
    election = _election(changes, before)
    return election[1].log_end if election is not None and election[1].leads else None


def _lowest(proof: Sequence[Extent], period: int) -> int | None:
    """The lowest offset that the findings up to a period show to be gone."""
    return min((each.low for each in proof if each.low is not None and each.period <= period), default=None)


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


def _circumstances(
    evidence: LogEvidence,
    cut: _Cut,
    election: tuple[Sample, Sample] | None,
    run: RunEvidence,
    lost: Extent | None,
) -> Iterator[str]:
    isr = _isr_before(evidence, cut, election)
    if election is not None and isr and election[0].leader not in isr:
        yield ELIGIBLE_REPLICA if _is_eligible(isr, election[0], evidence, run) else UNCLEAN_ELECTION
    if isr == (cut.before.node,):
        yield LAST_REPLICA
    mark = cut.before.high_watermark
    if mark is not None and lost is not None and lost.low is not None and lost.low >= mark:
        yield ABOVE_HIGH_WATERMARK


def _is_eligible(isr: Sequence[int], elected: Sample, evidence: LogEvidence, run: RunEvidence) -> bool:
    """Whether a broker outside the ISR was elected although neither the settings nor a fault allowed that."""
    minimum = run.settings.get(MINIMUM, "")
    # The election lies between the sample that shows it and the one before, and a request for it is soon answered.
    (shown,) = (change for change in evidence.changes if change.after is elected)
    since = elected.time if shown.before is None else shown.before.time
    by_hand = any(event.fault == ELECTS for event in run.active(since, elected.time))
    is_refused = run.settings.get("unclean.leader.election.enable") == "false" and not by_hand
    return is_refused and minimum.isdigit() and len(isr) < int(minimum)


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


def _losses(explained: Mapping[str, Extent], run: RunEvidence) -> Iterator[Step]:
    """Of the worst kind only: most values that are lost for readers had been acknowledged, too."""
    for name, (what, fate) in LOSSES.items():
        if (lost := explained.get(name)) is not None:
            until = run.at(lost.last)
            last = "" if until is None or lost.count == 1 else f"; the last at {until:,.1f} s"
            text = f"the first of {count(lost.count, what)} that {fate}{_offsets(lost)}{last}"
            yield Step(time=run.at(lost.first), text=text)
            return


def _steps(cause: Cause, evidence: LogEvidence, cut: _Cut, run: RunEvidence) -> Iterator[Step]:
    if LAST_REPLICA in cause.circumstances:
        for change in evidence.changes:
            if change.after.isr == (cut.before.node,) and change.after.time < cut.after.time:
                text = f"ISR {braces(change.after.isr)}: broker {cut.before.node} is the only one left"
                yield Step(time=run.at(change.after.time), text=text)
                break
    if cause.election is not None:
        remark, reason = "", ""
        if UNCLEAN_ELECTION in cause.circumstances:
            remark = " (unclean: it was not in the ISR before)"
        elif ELIGIBLE_REPLICA in cause.circumstances:
            minimum = run.settings[MINIMUM]
            reason = (
                f"; it had left the ISR, and may lead while the ISR is below min.insync.replicas={minimum}"
            )
        text = election_text(cause.election, evidence.log, offset=cut.offset, remark=remark, reason=reason)
        yield Step(time=cause.election.time, text=text)
    follows = cut.after.leader >= 0 and not cut.after.leads
    how = (
        f"follows broker {cut.after.leader} and has truncated its log"
        if follows
        else "has lost the end of its log:"
    )
    text = f"broker {cut.before.node} {how} from {cut.before.log_end:,} to {cut.offset:,}"
    yield Step(time=run.at(cut.after.time), text=text)


def _offsets(lost: Extent) -> str:
    """Where markers of transactions lie between the writes, there are more offsets than writes."""
    if lost.low is None or lost.high is None:
        return ""
    if lost.high - lost.low + 1 == lost.count:
        return f", offsets {lost.low:,} to {lost.high:,}"
    return f", between offsets {lost.low:,} and {lost.high:,}"


def _public(cut: _Cut, run: RunEvidence) -> Cut:
    return Cut(
        node=cut.before.node,
        log_end=cut.before.log_end or 0,
        offset=cut.offset,
        epoch=cut.before.epoch,
        time=run.at(cut.after.time),
    )
