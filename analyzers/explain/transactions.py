"""What a finding about a transaction needs: its life, its records and their readers, and claims of its id."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pyspark.sql import Row, Window
from pyspark.sql import functions as F

from analyzers.explain.explanation import Entry, Labels, Surroundings, Table, operation_name, value_name
from analyzers.explain.rows import MAX_ROWS, Excerpt, Log, first_rows, nearest_rows
from analyzers.history.load import History

OUTCOMES = {
    ("ok", "commit"): "committed",
    ("ok", "abort"): "aborted",
    ("fail", "commit"): "failed: none of it is visible",
    ("fail", "abort"): "aborted",
}
RECORD_OUTCOMES = {"ok": "committed", "fail": "not visible", "info": "unknown"}


def of_transaction(history: History, example: Mapping[str, int | None], labels: Labels) -> Surroundings:
    """For a finding that names a transaction."""
    op, time = example["transaction"], example["time"]
    assert op is not None
    rows = transaction_rows(history, [op])
    moment = time if time is not None else rows[0].invoked if rows else 0
    inits = claim_rows(history, sorted({row.name for row in rows if row.name is not None}), moment)
    sent = sent_records(history, op, example.get("value"))
    table = _records(history, op, sent, example.get("value"), example.get("reader"), labels)
    return Surroundings(
        entries=(*life_entries(rows, labels), *_claim_entries(inits.rows, labels)),
        tables=(table,) if sent.rows else (),
        notes=(
            *sent.notes("records of the transaction"),
            *inits.notes("claims of its transactional id", "nearest"),
        ),
    )


def of_stable_offsets(history: History, log: Log, example: Mapping[str, int | None]) -> Surroundings:
    """For a read above the last stable offset: the answers of leaders that it contradicts."""
    offset, time = example["offset"], example["time"]
    assert offset is not None
    assert time is not None
    answers = stable_offset_rows(history, log, time, offset)
    return Surroundings(
        entries=tuple(
            Entry(
                time=row.time,
                order=5,
                who=f"broker {row.node}",
                what=f"leads in epoch {row.leader_epoch}; reports for {log} last stable offset {row.last_stable} "
                f"(exclusive), high watermark {row.high_watermark}, log end {row.log_end}; requested after the poll",
            )
            for row in answers.rows
        ),
        notes=(*answers.notes("such answers"),),
    )


def life_entries(rows: Sequence[Row], labels: Labels) -> Iterator[Entry]:
    """The begin and the end of each transaction."""
    for row in rows:
        who, which = labels.client(row.process), f"transaction {operation_name(row.op)}"
        begins = f"begins {which} (id {row.name}, epoch {row.epoch})"
        yield Entry(time=row.invoked, order=0, who=who, what=begins)
        if row.ending is not None:
            yield Entry(time=row.ending, order=5, who=who, what=f"requests to {row.outcome} {which}")
        if row.completed is None:
            yield Entry(time=row.invoked, order=1, who=who, what=f"gets no answer about {which}")
        else:
            yield Entry(time=row.completed, order=6, who=who, what=f"{which}: {outcome(row)}")


def outcome(row: Row) -> str:
    return "outcome unknown" if row.type == "info" else OUTCOMES.get((row.type, row.outcome), str(row.type))


def _claim_entries(rows: Sequence[Row], labels: Labels) -> Iterator[Entry]:
    for row in rows:
        who = labels.client(row.process)
        yield Entry(time=row.invoked, order=0, who=who, what=f"claims the transactional id {row.name}")
        if row.completed is not None:
            answer = f"epoch {row.epoch}" if row.type == "ok" else row.type
            yield Entry(time=row.completed, order=1, who=who, what=f"claim of {row.name} answered: {answer}")


def _records(
    history: History, op: int, sent: Excerpt, value: int | None, reader: int | None, labels: Labels
) -> Table:
    """reader: the process that should have read `value`; -1 for the final reads."""
    readers = readers_of(history, [row.value for row in sent.rows])
    rows, marked = [], set()
    for position, row in enumerate(sent.rows):
        read_by = _readers(readers.get(row.value), labels)
        if row.value == value:
            marked.add(position)
            if reader is not None:
                read_by += f"; not by {'the final reads' if reader == -1 else labels.client(reader)}"
        rows.append((
            value_name(row.value), f"{row.topic}-{row.partition}", "" if row.offset is None else str(row.offset),
            labels.at(row.invoked), RECORD_OUTCOMES[row.type], read_by,
        ))  # fmt: skip
    return Table(
        title=f"Records of transaction {operation_name(op)}, and their readers",
        headings=("value", "log", "offset", "sent", "outcome", "read by"),
        rows=tuple(rows),
        marked=frozenset(marked),
    )


def _readers(row: Row | None, labels: Labels) -> str:
    if row is None:
        return "no process"
    named = ", ".join(
        f"{labels.client(each.process)}{', final read' * each.final}{' (uncommitted)' * (not each.committed)}"
        for each in row.named
    )
    more = f" and others, {row.number:,} processes in total" if row.number > NAMED_READERS else ""
    return named + more


NAMED = [
    "op", "process", "type", "invoked", "completed",
    "get_json_object(value, '$.transactional_id') as name",
    "cast(get_json_object(value, '$.epoch') as bigint) as epoch",
]  # fmt: skip

NAMED_READERS = 5
"""Readers of one record that an explanation names; the others are counted."""


def transaction_rows(history: History, ops: Collection[int]) -> tuple[Row, ...]:
    """The transactions with these operation ids.

    Columns: op, process, type, invoked, completed (ns), name (the transactional id), epoch, outcome, ending (ns).
    """
    rows = history.operations.where("f = 'txn'").where(F.col("op").isin(*ops))
    found = rows.selectExpr(
        *NAMED,
        "get_json_object(value, '$.outcome') as outcome",
        "cast(get_json_object(value, '$.ending') as bigint) as ending",
    ).collect()
    return tuple(sorted(found, key=lambda row: (row.invoked, row.op)))


def claim_rows(history: History, names: Collection[str], at: int) -> Excerpt:
    """The claims of these transactional ids nearest to a time (ns).

    Columns: op, process, type, invoked, completed, name, epoch.
    """
    rows = history.operations.where("f = 'init'").selectExpr(*NAMED).where(F.col("name").isin(*names))
    return nearest_rows(rows, "coalesce(completed, invoked)", at, at, ["invoked", "process", "op"])


def step_rows(history: History, ops: Collection[int]) -> dict[int, Excerpt]:
    """The first records that each transaction sent and polled, by transaction.

    Columns: f, type, process, invoked, completed (ns), topic, partition, offset, value, committed.
    """
    own = Window.partitionBy("transaction")
    rows = (
        history.records.where(F.col("transaction").isin(*ops))
        .withColumn("total", F.count("*").over(own))
        .withColumn("rank", F.row_number().over(own.orderBy("invoked", "process", "index")))
        .where(F.col("rank") <= MAX_ROWS)
        .select(
            "transaction", "total", "rank", "f", "type", "process", "invoked", "completed", "topic", "partition",
            "offset", "value", "committed",
        )
        .collect()
    )  # fmt: skip
    by_op: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.transaction, row["rank"])):
        by_op.setdefault(row.transaction, []).append(row)
    return {op: Excerpt(rows=tuple(of_op), total=of_op[0].total) for op, of_op in by_op.items()}


def sent_records(history: History, transaction: int, value: int | None) -> Excerpt:
    """The records that a transaction sent, that of `value` always among them.

    Columns: topic, partition, value, offset, type, invoked.
    """
    rows = history.records.where("f = 'send'").where(F.col("transaction") == transaction)
    excerpt = first_rows(
        rows.select("topic", "partition", "value", "offset", "type", "invoked"),
        [f"value <> {value}L" if value is not None else "false", "invoked", "value"],
    )
    by_time = sorted(excerpt.rows, key=lambda row: (row.invoked, row.value))
    return Excerpt(rows=tuple(by_time), total=excerpt.total)


def readers_of(history: History, values: Collection[int]) -> dict[int, Row]:
    """The readers of each value: number (of processes), named (the first few as process, final, committed)."""
    rows = (
        history.records.where("f = 'poll'")
        .where(F.col("value").isin(*values))
        .groupBy("value")
        .agg(
            F.expr("count(distinct process)").alias("number"),
            F.expr(
                "slice(array_sort(collect_set(struct(process, coalesce(final, false) as final, "
                f"coalesce(committed, false) as committed))), 1, {NAMED_READERS})"
            ).alias("named"),
        )
        .collect()
    )
    return {row.value: row for row in rows}


def stable_offset_rows(history: History, log: Log, after: int, offset: int) -> Excerpt:
    """Answers of leaders, to requests sent after a time (ns), with a last stable offset of at most `offset`.

    Columns: asked, time (ns), node, leader_epoch, last_stable, high_watermark, log_end.
    """
    rows = log.rows(history.observations).where("kind = 'partition' and leader = node").where(
        (F.col("asked") > after) & (F.col("last_stable") <= offset)
    )  # fmt: skip
    columns = ["asked", "time", "node", "leader_epoch", "last_stable", "high_watermark", "log_end"]
    return first_rows(rows.select(*columns), ["time", "node"])
