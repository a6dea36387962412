"""Traces of a truncation that no sample of a broker shows: findings, leader epochs of records, lines of brokers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzers.causes.evidence import Extent, LogEvidence, RunEvidence
from analyzers.history.broker_logs import CUT, FOLLOWS, LEADS, NO_CUT, UNCLEAN, LogLine
from analyzers.history.fault_events import RECREATE
from analyzers.verdict.cause import Step

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


def trace(evidence: LogEvidence, extents: Sequence[Extent], run: RunEvidence) -> Trace | None:
    """What shows that the log was cut, and from where on. None if nothing does.

    extents  findings that no sample explains.
    """
    first = min((each.first for each in extents if each.first is not None), default=None)
    last = max((each.last for each in extents if each.last is not None), default=None)
    if any(event.fault == RECREATE for event in run.active(first, last)):
        return None  # The new topic has another log.
    lines = [] if run.logs is None else run.logs.about(evidence.log)
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
