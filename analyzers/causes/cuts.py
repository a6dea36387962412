"""Where the logs of replicas were cut: by samples of the brokers, or by other traces where no sample shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from analyzers.causes.evidence import Change, Extent, LogEvidence, RunEvidence, Sample, span_of
from analyzers.history.fault_events import RECREATE
from analyzers.history.surroundings import CUT, FOLLOWS, LEADS, NO_CUT, UNCLEAN, LogLine
from analyzers.verdict.finding import Step

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


def find_cuts(
    evidence: LogEvidence, proof: Sequence[Extent], run: RunEvidence, lines: Sequence[LogLine] = ()
) -> list[LogCut]:
    """Every cut that samples show. One that is shorter than the time between two samples shows in the findings.

    lines  what brokers logged about this log.
    """
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
    found = list(cuts.values())
    leaders = [cut for cut in found if cut.before.leads]
    return [_placed(cut, lines, proof if leaders == [cut] else (), run) for cut in found]


def _placed(cut: LogCut, lines: Sequence[LogLine], proof: Sequence[Extent], run: RunEvidence) -> LogCut:
    """The cut at the offset to which its broker logged a truncation. Without such a line, at the lowest finding, if
    that is lower than the samples show and not below the high watermark: the first sample of a successor may come
    after it has appended records.

    proof  findings, if this is the only cut of a leader; otherwise empty, since they may belong to another cut.
    """
    if run.began is not None:
        offsets = [
            logged[0]
            for line in lines
            if line.node == f"kafka{cut.before.node}"
            and cut.before.time <= run.began + line.time * 1e9 <= cut.after.time
            and (logged := _cut(line, lines)) is not None
            and logged[0] < (cut.before.log_end or 0)
        ]
        if offsets:
            return replace(cut, offset=min(offsets))
    lowest, mark = _lowest(proof, run.period(cut.after.time)), cut.before.high_watermark
    if lowest is None or mark is None or lowest < mark:
        return cut
    return replace(cut, offset=min(lowest, cut.offset))


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


BEFORE_LEADING = 5.0
"""Seconds between a controller's decision on a leader and the line of that leader, at most."""

TOPIC_ID = re.compile(r" with topic (?:id Some\(\S+\)|ID [^\s:]+)")

MOST_CHARACTERS = 100
"""Of a line of a broker."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A log was cut at this offset or below."""

    offset: int
    steps: tuple[Step, ...] = ()
    is_unclean: bool = False
    """Whether a controller logged that the new leader was not in the ISR."""


def trace(
    evidence: LogEvidence, extents: Sequence[Extent], run: RunEvidence, lines: Sequence[LogLine]
) -> Trace | None:
    """What shows that the log was cut, and from where on. None if nothing does.

    extents  findings that no sample explains.
    lines    what brokers logged about this log.
    """
    if any(event.fault == RECREATE for event in run.active(*span_of(extents))):
        return None  # The new topic has another log.
    found = [
        *_rewritten(extents, run),
        *_new_epoch(evidence, extents, run),
        *_logged(lines, extents, run),
    ]
    if not found:
        return None
    lowest = min(found, key=lambda each: each.offset)
    return Trace(
        offset=lowest.offset,
        steps=tuple(step for each in found for step in each.steps),
        is_unclean=any(each.is_unclean for each in found),
    )


def _rewritten(extents: Sequence[Extent], run: RunEvidence) -> Iterator[Trace]:
    """Two values had one offset: the first of them was cut off before the other came."""
    for each in extents:
        if each.anomaly == "offset-reuse" and each.low is not None:
            text = f"offset {each.low:,} gets a second value: the log had been cut there or below"
            yield Trace(offset=each.low, steps=(Step(time=run.at(each.first), text=text),))


def _new_epoch(evidence: LogEvidence, extents: Sequence[Extent], run: RunEvidence) -> Iterator[Trace]:
    """A record at or below an offset that is lost was sent only after that had been acknowledged or read, and is the
    first one of a leader epoch: the log had been cut there."""
    for each in _losses(extents):
        if each.low is None or each.first is None:
            continue
        for start in evidence.epochs:
            if start.offset <= each.low and start.time > each.first:
                text = f"the records of leader epoch {start.epoch} begin at offset {start.offset:,}"
                yield Trace(offset=start.offset, steps=(Step(time=run.at(start.time), text=text),))
                return


def _logged(lines: Sequence[LogLine], extents: Sequence[Extent], run: RunEvidence) -> Iterator[Trace]:
    """A broker logged that it truncates to an offset at or below one that is lost, after that was acknowledged."""
    for each in _losses(extents):
        acked = run.at(each.first)
        if acked is None:
            continue
        for line in lines:
            cut = _cut(line, lines)
            if cut is None or line.time <= acked or not _overlaps(cut, each):
                continue
            told = [*_election(line, lines), line]
            steps = tuple(Step(time=other.time, text=_text(other)) for other in told)
            yield Trace(offset=cut[0], steps=steps, is_unclean=any(UNCLEAN.match(each.text) for each in told))
            return


def _election(cut: LogLine, lines: Sequence[LogLine]) -> Iterator[LogLine]:
    """Of the leader for which a log was cut: that it was elected although it was not in the ISR, and when it led."""
    leading = [
        line for line in lines if LEADS.match(line.text) and line.time <= cut.time and line.node != cut.node
    ]
    if not leading:
        return
    unclean = [
        line
        for line in lines
        if UNCLEAN.match(line.text) and abs(line.time - leading[-1].time) <= BEFORE_LEADING
    ]
    yield from unclean[:1]
    yield leading[-1]


def _text(line: LogLine) -> str:
    """A broker's line without the id of the topic."""
    text = TOPIC_ID.sub("", line.text)
    text = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS].rstrip() + " ..."
    return f"{line.node} logs: {text}"


def _cut(line: LogLine, lines: Sequence[LogLine]) -> tuple[int, int | None] | None:
    """The first offset that a broker drops, and the end of its log before, exclusive, if it logged that; None for
    another line, and for one that drops nothing."""
    match = CUT.match(line.text)
    if match is None:
        return None
    of_node = [other for other in lines if other.node == line.node]
    if any((idle := NO_CUT.match(other.text)) and idle[1] == match[2] for other in of_node):
        return None
    ends = [
        int(follows[1])
        for other in of_node
        if other.time <= line.time and (follows := FOLLOWS.match(other.text)) is not None
    ]
    return int(match[2]), ends[-1] if ends else None


def _overlaps(cut: tuple[int, int | None], extent: Extent) -> bool:
    first, end = cut
    is_above = extent.high is not None and extent.high >= first
    return is_above and (end is None or (extent.low is not None and extent.low < end))


def _losses(extents: Sequence[Extent]) -> list[Extent]:
    return [each for each in extents if each.anomaly in ("lost-write", "lost-read")]
