"""Where the logs of replicas were cut, by the samples of the brokers and the findings that confirm them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analyzers.causes.evidence import Change, Extent, LogEvidence, RunEvidence, Sample
from analyzers.history.fault_events import RECREATE

PROOF = ("lost-write", "lost-read", "offset-reuse")
"""Findings that show where a log was cut, also if no sample caught it at its shortest."""


@dataclass(frozen=True, kw_only=True)
class LogCut:
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


def find_cuts(evidence: LogEvidence, proof: Sequence[Extent], run: RunEvidence) -> list[LogCut]:
    """Every cut that samples show. One that is shorter than the time between two samples shows in the findings."""
    recreated = [event for event in run.events if event.fault == RECREATE]
    led: dict[int, Sample] = {}
    cuts: dict[tuple[int, int], LogCut] = {}
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
            cuts[key] = LogCut(before=leading, after=after, offset=offset)
            continue
        lowest = _lowest(proof, run.period(after.time))
        if before.leads and lowest is not None and _is_overruled(evidence.changes, before, after, lowest):
            cuts[key] = LogCut(before=leading, after=after, offset=lowest)
    return list(cuts.values())


def _is_first(after: Sample, cuts: Mapping[tuple[int, int], LogCut]) -> bool:
    """Whether a replica that leads has less than before, for the first time in this log.

    It may have appended new records before it was asked, so the findings show better where its log was cut."""
    return after.leads and not cuts


def _end_of_successor(changes: Sequence[Change], before: Sample) -> int | None:
    """Where the log of the next leader ended when it was first seen to lead; None if that was not seen.

    Others cut their logs there or below, and may have fetched more of its log by the time they are asked again.
    """
    election = election_after(changes, before)
    return election[1].log_end if election is not None and election[1].leads else None


def _lowest(proof: Sequence[Extent], period: int) -> int | None:
    """The lowest offset that the findings up to a period show to be gone."""
    return min((each.low for each in proof if each.low is not None and each.period <= period), default=None)


def _is_overruled(changes: Sequence[Change], before: Sample, after: Sample, lowest: int) -> bool:
    """Whether a leader came to follow another one that does not have its records from `lowest` on: its own log ended
    there, or the old leader's high watermark was not above."""
    if after.leads or after.epoch <= before.epoch or before.log_end is None:
        return False
    election = election_after(changes, before)
    shorter = (
        election is not None and election[1].log_end is not None and election[1].log_end < before.log_end
    )
    return shorter or (before.high_watermark is not None and before.high_watermark <= lowest)


def election_after(changes: Sequence[Change], deposed: Sample) -> tuple[Sample, Sample] | None:
    """The first sample that shows the leader after this one, and the first of the new leader itself."""
    epochs = [each.after for each in changes if each.after.epoch > deposed.epoch and each.after.leader >= 0]
    if not epochs:
        return None
    epoch = min(each.epoch for each in epochs)
    of_epoch = [each for each in epochs if each.epoch == epoch]
    first = min(of_epoch, key=lambda each: each.time)
    own = [each for each in of_epoch if each.leads]
    return first, min(own, key=lambda each: each.time, default=first)


def isr_before(evidence: LogEvidence, cut: LogCut, election: tuple[Sample, Sample] | None) -> tuple[int, ...]:
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
