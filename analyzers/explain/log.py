"""What a finding about a topic-partition needs: the sends and polls of its values, the log and its readers near the
finding, leaders and faults.

Every query filters first, and returns an excerpt where there may be many rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.explain.explanation import Entry, Labels, Slot, value_name
from analyzers.explain.rows import MAX_ROWS, Excerpt, Log, first_rows
from analyzers.facts.fact import ACKED, TIME
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
            for leader in leaders_at(history, log, row.completed):
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


def slots(
    rows: Sequence[Row], offsets: Sequence[int], values: Sequence[int], around: int, labels: Labels
) -> Iterator[Slot]:
    """In order of offset. An offset at which nothing was seen has a slot if it lies between others that were seen."""
    seen = {row.offset for row in rows}
    holes = {offset for offset in range(min(seen), max(seen)) if offset not in seen} if seen else set()
    near = {hole for hole in holes if any(abs(hole - focus) <= around for focus in offsets)}
    lines = [
        *((row.offset, row) for row in rows),
        *((offset, None) for offset in near | (set(offsets) - seen)),
    ]
    for offset, row in sorted(lines, key=lambda line: (line[0], _order(line[1]))):
        if row is None:
            yield Slot(offset=offset, value=None, focus=offset in offsets)
            continue
        yield Slot(
            offset=offset,
            value=value_name(row.value) if row.value is not None else f"({row.problem})",
            epoch=row.epoch,
            written=f"acknowledged to {labels.client(row.acked)}" if row.acked is not None else "",
            read=_readers(row, labels),
            focus=offset in offsets and (not values or row.value in values),
        )


def reader_line(row: Row, labels: Labels) -> tuple[str, str]:
    """A reader, and the records it got as offset=value."""
    seen = [f"{offset}={value_name(value) if value is not None else '?'}" for _, offset, value in row.seen]
    return labels.reader(row), " ".join(seen[:MAX_ROWS]) + (" ..." * (len(seen) > MAX_ROWS))


def _order(row: Row | None) -> int:
    return -1 if row is None or row.value is None else int(row.value)


def _readers(row: Row, labels: Labels) -> str:
    if not row.readers:
        return "no process"
    number = f"{row.readers:,} process{'es' * (row.readers > 1)}"
    return f"{number}, first {labels.at(row.first_read)}{', final read' * bool(row.in_final)}"


IS_SHOWN = "f in ('read', 'final-read', 'deletion')"


def sends_of(history: History, values: Collection[int]) -> Excerpt:
    """The sends of these values."""
    rows = history.records.where(F.col("value").isin(*values) & (F.col("f") == "send"))
    rows = rows.select(
        "invoked", "value", "op", "process", "topic", "partition", "type", "completed", "offset", "error",
        "transaction",
    )  # fmt: skip
    return first_rows(rows, ["invoked", "value", "op", "process"])


def polls_of(history: History, values: Collection[int]) -> Excerpt:
    """The polls of these values, one row per reader and place.

    Columns: time (of the first such poll, ns), value, process, session, topic, partition, offset, leader_epoch, type,
    final, times (the number of such polls).
    """
    rows = history.records.where(F.col("value").isin(*values) & (F.col("f") == "poll"))
    key = ["value", "process", "session", "topic", "partition", "offset", "leader_epoch", "type", "final"]
    return first_rows(
        rows.groupBy(*key).agg(F.expr(f"min({TIME})").alias("time"), F.count("*").alias("times")),
        ["time", "process", "offset", "value", "type"],
    )


def slot_rows(history: History, log: Log, offsets: Sequence[int], around: int) -> tuple[Row, ...]:
    """One row per offset near `offsets` and value seen there.

    Columns: offset, value, problem (of the polled payload), acked (the process that it was acknowledged to), readers
    (the number of processes), epoch, in_final (whether a final read got it), first_read (ns).
    """
    near = _near(log.rows(history.records), offsets, around).where(f"({ACKED}) or f = 'poll'")
    rows = near.withColumn("problem", F.expr("if(f = 'poll', error, null)"))
    rows = rows.groupBy("offset", "value", "problem").agg(
        F.expr(f"min(process) filter (where {ACKED})").alias("acked"),
        F.expr("count(distinct process) filter (where f = 'poll')").alias("readers"),
        F.expr("bool_or(f = 'poll' and final)").alias("in_final"),
        F.expr("min(leader_epoch)").alias("epoch"),
        F.expr(f"min({TIME}) filter (where f = 'poll')").alias("first_read"),
    )
    return first_rows(rows, ["offset", "value", "problem"], limit=MAX_ROWS * 2).rows


def reader_rows(history: History, log: Log, offsets: Sequence[int], around: int) -> Excerpt:
    """The readers of records near `offsets`.

    Columns: process, session, assignment, final, time (of the first such poll, ns), seen: structs of offset and
    value, in the order in which the reader got them."""
    near = _near(log.rows(history.records.where("f = 'poll'")), offsets, around)
    # A reader may poll the same offset many times: take the first time only, so that few rows remain.
    once = near.groupBy("process", "session", "assignment", "final", "offset", "value").agg(
        F.expr(f"min(struct({TIME} as time, index))").alias("first")
    )
    return first_rows(
        once.groupBy("process", "session", "assignment", "final").agg(
            F.expr("min(first.time)").alias("time"),
            F.expr("sort_array(collect_list(struct(first.index as i, offset, value)))").alias("seen"),
        ),
        ["time", "process", "assignment"],
    )


def operation_rows(history: History, log: Log, ops: Collection[int]) -> Excerpt:
    """The final reads of the log, the deletions of its records, and the session reads among `ops`."""
    rows = log.rows(history.operations).where(IS_SHOWN)
    wanted = rows.where((F.col("f") != "read") | F.col("op").isin(*ops))
    return first_rows(wanted, ["invoked", "op", "process"])


def leadership_changes(history: History, log: Log, began: int, ended: int) -> Excerpt:
    """Changes of leadership and ISR as sampled at the leaders, from the last change before `began` (ns) to `ended`.

    Columns: time (ns), node, leader, leader_epoch, isr, high_watermark, log_end.
    """
    own = log.rows(history.observations).where("kind = 'partition' and leader = node")
    view = "struct(leader, leader_epoch, array_sort(isr) as isr)"
    by_time = Window.partitionBy("node").orderBy("time")
    changed = (
        own.withColumn("view", F.expr(view))
        .withColumn("before", F.lag("view").over(by_time))
        .where("before is null or view <> before")
        .where(F.col("time") <= ended)
        .withColumn("next", F.lead("time").over(by_time))
        .where(F.col("time").between(began, ended) | (F.col("next") > began) | F.col("next").isNull())
    )
    columns = ["time", "node", "leader", "leader_epoch", "isr", "high_watermark", "log_end"]
    return first_rows(changed.select(*columns), ["time", "node"])


def leaders_at(history: History, log: Log, at: int) -> tuple[Row, ...]:
    """The brokers whose last sample at or before `at` (ns) names them as leader; the newest epoch first."""
    own = log.rows(history.observations).where("kind = 'partition'").where(F.col("time") <= at)
    last = own.groupBy("node").agg(
        F.expr("max_by(struct(leader, leader_epoch, isr, high_watermark, log_end), time)").alias("sample"),
        F.max("time").alias("time"),
    )
    rows = last.where("sample.leader = node").selectExpr("node", "time", "sample.*").collect()
    return tuple(sorted(rows, key=lambda row: (-(row.leader_epoch or 0), row.node)))


def _near(rows: DataFrame, offsets: Sequence[int], around: int) -> DataFrame:
    near = F.lit(False)
    for offset in offsets:
        near = near | F.col("offset").between(offset - around, offset + around)
    return rows.where(near)
