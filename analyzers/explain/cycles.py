"""What a cycle of transactions needs: each transaction with its operations, and why it precedes the next one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.explain.explanation import Entry, Labels, Surroundings, Table, operation_name, value_name
from analyzers.explain.rows import MAX_ROWS, Excerpt
from analyzers.explain.transactions import (
    life_entries,
    outcome,
    step_rows,
    transaction_rows,
)
from analyzers.facts.fact import TIME
from analyzers.history.load import History
from analyzers.judge.cycle_search import LEVELS

SEND_OUTCOMES = {"ok": "acknowledged and committed", "fail": "not visible", "info": "unknown"}


def of_cycle(history: History, anomaly: str, cycle: Sequence[int], labels: Labels) -> Surroundings:
    """cycle: operation ids of the transactions; each precedes the next, and the last precedes the first."""
    shown = cycle[:MAX_ROWS]
    pairs = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))[:MAX_ROWS]
    rows = {row.op: row for row in transaction_rows(history, {op for pair in pairs for op in pair})}
    steps = step_rows(history, shown)
    return Surroundings(
        entries=(
            *life_entries([rows[op] for op in shown if op in rows], labels),
            *(entry for op in shown if op in steps for entry in _step_entries(steps[op], labels)),
        ),
        tables=(
            Table(
                title="The cycle: why each transaction precedes the next",
                headings=("transaction", "precedes", "dependency", "reason"),
                rows=tuple(_dependencies(history, anomaly, pairs, rows, labels)),
            ),
            Table(
                title="Transactions of the cycle",
                headings=("transaction", "operation", "value", "log", "offset", "outcome"),
                rows=tuple(
                    row
                    for op in shown
                    for row in _operations(op, rows.get(op), steps.get(op, Excerpt()), labels)
                ),
            ),
        ),
        notes=tuple(_notes(cycle, steps)),
    )


def _notes(cycle: Sequence[int], steps: Mapping[int, Excerpt]) -> Iterator[str]:
    for op in cycle:
        if op in steps:
            yield from steps[op].notes(f"operations of transaction {operation_name(op)}")
    if len(cycle) > MAX_ROWS:
        yield f"the cycle: the first {MAX_ROWS} of {len(cycle):,} transactions are shown"


def _dependencies(
    history: History, anomaly: str, pairs: Sequence[tuple[int, int]], rows: Mapping[int, Row], labels: Labels
) -> Iterator[tuple[str, ...]]:
    """All reasons of the kinds that count for the anomaly; the order in time only for a pair without another."""
    kinds = LEVELS[anomaly]
    reasons: dict[tuple[int, int], list[tuple[str, str]]] = {pair: [] for pair in pairs}
    if "wr" in kinds:
        for row in read_dependencies(history, pairs):
            reason = (
                f"{operation_name(row.target)} polled {value_name(row.value)} of {operation_name(row.source)} from "
                f"{row.topic}-{row.partition} at offset {row.offset}, {labels.at(row.time)}"
            )
            reasons[row.source, row.target].append(("wr", reason))
    if "ww" in kinds:
        for row in write_dependencies(history, pairs):
            first, second = operation_name(row.source), operation_name(row.target)
            reason = (
                f"{row.topic}-{row.partition} holds {value_name(row.value)} of {first} at offset {row.offset}, "
                f"and next {value_name(row.next_value)} of {second} at offset {row.next_offset}"
            )
            reasons[row.source, row.target].append(("ww", reason))
    for (source, target), of_pair in reasons.items():
        first, second = operation_name(source), operation_name(target)
        if not of_pair and "realtime" in kinds and source in rows and target in rows:
            began, ended = labels.at(rows[target].invoked), labels.at(rows[source].completed)
            of_pair.append(("realtime", f"{second} began {began}, after {first} had ended {ended}"))
        for kind, reason in of_pair or [("?", "unknown")]:
            yield first, second, kind, reason


def _operations(op: int, row: Row | None, steps: Excerpt, labels: Labels) -> Iterator[tuple[str, ...]]:
    if row is not None:
        producer = f"{row.name}, epoch {row.epoch}, {labels.client(row.process)}"
        yield operation_name(op), "(whole)", "", "", "", f"{outcome(row)} ({producer})"
    for step in steps.rows:
        log = f"{step.topic}-{step.partition}"
        offset = "" if step.offset is None else str(step.offset)
        if step.f == "send":
            operation, result = "send", SEND_OUTCOMES[step.type]
        else:
            operation, result = "poll", "read as committed" if step.committed else "read uncommitted"
        yield operation_name(op), operation, value_name(step.value), log, offset, result


def _step_entries(steps: Excerpt, labels: Labels) -> Iterator[Entry]:
    for row in steps.rows:
        who, log = labels.client(row.process), f"{row.topic}-{row.partition}"
        if row.f == "send":
            yield Entry(time=row.invoked, order=2, who=who, what=f"sends {labels.write(row.value)} to {log}")
        else:
            time = row.invoked if row.completed is None else row.completed
            what = f"polls {labels.write(row.value)} from {log} at offset {row.offset}"
            yield Entry(time=time, order=3, who=who, what=what)


Pairs = Collection[tuple[int, int]]
"""Pairs of transactions: the source, and the target that depends on it."""


def write_dependencies(history: History, pairs: Pairs) -> tuple[Row, ...]:
    """Places where a record of the target is the next known one after a record of the source; one per pair and log.

    Columns: source, target (transactions), topic, partition, offset, value (of the source's record), next_offset,
    next_value (of the target's).
    """
    logs = history.records.where("f = 'send'").where(F.col("transaction").isin(*_ops(pairs)))
    logs = logs.select("topic", "partition").distinct()
    placed = (
        history.records.join(F.broadcast(logs), ["topic", "partition"])
        .where("value is not null")
        .groupBy("topic", "partition", "value")
        .agg(
            F.expr("max(transaction) filter (where f = 'send')").alias("transaction"),
            F.expr("max(type) filter (where f = 'send')").alias("kind"),
            F.expr("max(offset) filter (where f = 'send')").alias("sent"),
            F.expr("min(offset) filter (where f = 'poll' and coalesce(committed, false))").alias("read"),
        )
        .where("transaction is not null and kind <> 'fail'")
        .withColumn("at", F.expr("coalesce(read, if(kind = 'ok', sent, null))"))
        .where("at is not null")
    )
    order = Window.partitionBy("topic", "partition").orderBy("at", "value")
    before = placed.withColumn(
        "before", F.lag(F.struct("transaction", F.col("at").alias("offset"), "value")).over(order)
    )
    rows = before.where(_is_pair(pairs, "before.transaction", "transaction")).selectExpr(
        "topic", "partition", "before.transaction as source", "transaction as target",
        "before.offset as offset", "before.value as value", "at as next_offset", "value as next_value",
    )  # fmt: skip
    return _first_per_pair_and_log(rows, "offset, value, next_offset, next_value")


def read_dependencies(history: History, pairs: Pairs) -> tuple[Row, ...]:
    """Places where the target polled, with read_committed, a record of the source; the first per pair and log.

    Columns: source, target (transactions), topic, partition, offset, value, time (of the poll, ns).
    """
    ours = history.records.where(F.col("transaction").isin(*_ops(pairs)))
    sent = ours.where("f = 'send'").selectExpr("topic", "partition", "value", "transaction as source")
    rows = (
        ours.where("f = 'poll' and coalesce(committed, false) and error is null")
        .selectExpr("topic", "partition", "value", "offset", "transaction as target", f"{TIME} as time")
        .join(sent, ["topic", "partition", "value"])
        .where(_is_pair(pairs, "source", "target"))
    )
    return _first_per_pair_and_log(rows, "time, offset, value")


def _first_per_pair_and_log(rows: DataFrame, columns: str) -> tuple[Row, ...]:
    key = ["source", "target", "topic", "partition"]
    firsts = rows.groupBy(*key).agg(F.expr(f"min(struct({columns}))").alias("place"))
    return tuple(sorted(firsts.select(*key, "place.*").collect(), key=lambda row: tuple(row)))


def _ops(pairs: Pairs) -> list[int]:
    return sorted({op for pair in pairs for op in pair})


def _is_pair(pairs: Pairs, source: str, target: str) -> str:
    return " or ".join(f"({source} = {a}L and {target} = {b}L)" for a, b in sorted(pairs))
