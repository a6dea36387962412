"""Timeline entries of sends, polls, reads, leaders and faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import Row

from analyzers.explain.evidence import log as evidence
from analyzers.explain.evidence.log import Log
from analyzers.explain.labels import Labels
from analyzers.explain.time_axis import Entry
from analyzers.history.fault_events import FaultEvent
from analyzers.history.load import History

OUTCOMES = {"ok": "acknowledged", "fail": "failed", "info": "outcome unknown"}
IN_TRANSACTION = {"ok": "committed", "fail": "not committed", "info": "not known to be committed"}
"""The outcome of a send within a transaction is that of the transaction."""


def send_entries(history: History, rows: Sequence[Row], labels: Labels) -> Iterator[Entry]:
    for row in rows:
        log, who, value = (
            Log(topic=row.topic, partition=row.partition),
            labels.client(row.process),
            labels.write(row.value),
        )
        yield Entry(time=row.invoked, order=1, who=who, what=f"sends {value} to {log}")
        attempts = f" (attempts: {row.error})" if row.error else ""
        if row.completed is None:
            yield Entry(time=row.invoked, order=2, who=who, what=f"gets no answer for {value}{attempts}")
            continue
        place = "" if row.offset is None else f" at offset {row.offset}"
        outcome = (OUTCOMES if row.transaction is None else IN_TRANSACTION)[row.type]
        yield Entry(time=row.completed, order=2, who=who, what=f"{outcome}: {value}{place}{attempts}")
        if row.type == "ok":
            for leader in evidence.leaders(history, log, row.completed):
                age = (row.completed - leader.time) / 1e9
                what = f"{_leadership(leader)}, sampled {age:.3f} s earlier"
                yield Entry(time=row.completed, order=3, who=f"broker {leader.node}", what=what)


def poll_entries(rows: Sequence[Row], labels: Labels) -> Iterator[Entry]:
    for row in rows:
        log = Log(topic=row.topic, partition=row.partition)
        epoch = "" if row.leader_epoch is None else f", epoch {row.leader_epoch}"
        kind = "" if row.type == "ok" else f" ({row.type})"
        times = "" if row.times == 1 else f", {row.times:,} times in total"
        what = f"polls {labels.write(row.value)} from {log} at offset {row.offset}{epoch}{kind}{times}"
        yield Entry(time=row.time, order=4, who=labels.reader(row), what=what)


def deletion_entries(rows: Sequence[Row], labels: Labels) -> Iterator[Entry]:
    """Of the operations that are deletions of records."""
    for row in (row for row in rows if row.f == "deletion"):
        log, who = Log(topic=row.topic, partition=row.partition), labels.client(row.process)
        what = f"the deletion of the records of {log} below offset {row.end_offset}"
        if row.completed is None:
            yield Entry(time=row.invoked, order=0, who=who, what=f"requests {what}")
        else:
            outcome = OUTCOMES[row.type] if row.error is None else f"{OUTCOMES[row.type]} ({row.error})"
            yield Entry(time=row.completed, order=5, who=who, what=f"{outcome}: {what}")


def read_entries(rows: Sequence[Row], labels: Labels) -> Iterator[Entry]:
    """Of the operations that are reads."""
    for row in (row for row in rows if row.f != "deletion"):
        read, who = f"{row.f} of {row.topic}-{row.partition}", labels.client(row.process)
        yield Entry(
            time=row.invoked, order=0, who=who, what=f"begins a {read} from offset {row.start_offset}"
        )
        if row.completed is not None:
            how = "completes" if row.type == "ok" else f"gives up ({row.error or row.type})"
            what = f"{how} the {read} up to end offset {row.end_offset} (exclusive)"
            yield Entry(time=row.completed, order=5, who=who, what=what)


def leader_entries(rows: Sequence[Row], first: int, labels: Labels) -> Iterator[Entry]:
    """first: where the timeline begins, ns. Older samples are shown there."""
    for row in rows:
        since = "" if row.time >= first else f", since {labels.at(row.time).removeprefix('at ')}"
        what = f"{_leadership(row)}{since}"
        yield Entry(time=max(row.time, first), order=0, who=f"broker {row.node}", what=what)


def fault_entries(events: Sequence[FaultEvent], first: int, last: int) -> Iterator[Entry]:
    """Of the faults that were active at some time between `first` and `last` (ns)."""
    for event in events:
        if event.began is None or not event.active_between(first, last):
            continue
        who, name, heal = f"fault {event.event}", event.name(), event.heal
        yield Entry(time=event.began, order=0, who=who, what=f"{name}: possibly active from here on")
        if heal is not None and heal.surely is not None:
            began, ended = heal.surely
            yield Entry(time=began, order=0, who=who, what=f"{name}: certainly active from here on")
            yield Entry(time=ended, order=6, who=who, what=f"{name}: certainly active until here")
        if event.ended is not None:
            healed = heal is not None and heal.effective
            what = f"{name}: {'certainly healed' if healed else 'not known to be healed'}"
            yield Entry(time=event.ended, order=6, who=who, what=what)


def faults_at_text(events: Sequence[FaultEvent], time: int) -> str:
    """The faults active at a time (ns), in parentheses."""
    certain = [event.name() for event in events if event.surely_active(time)]
    possible = [event.name() for event in events if event.active(time) and event.name() not in certain]
    parts = [
        f"{adverb} active: {', '.join(names)}"
        for adverb, names in (("certainly", certain), ("possibly", possible))
        if names
    ]
    return f"({'; '.join(parts)})" if parts else "(no fault active)"


def _leadership(row: Row) -> str:
    isr = ",".join(map(str, sorted(row.isr))) if row.isr is not None else "?"
    ends = "" if row.log_end is None else f", high watermark {row.high_watermark}, log end {row.log_end}"
    return f"leads in epoch {row.leader_epoch} with ISR {isr}{ends}"
