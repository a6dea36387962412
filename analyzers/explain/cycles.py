"""What a cycle of transactions needs: each transaction with its operations, and why it precedes the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Row

from analyzers.explain.evidence import dependencies
from analyzers.explain.evidence import transactions as evidence
from analyzers.explain.evidence.excerpt import MAX_ROWS, Excerpt
from analyzers.explain.explanation import Surroundings, Table
from analyzers.explain.labels import Labels
from analyzers.explain.names import operation_name, value_name
from analyzers.explain.time_axis import Entry
from analyzers.explain.transactions import life_entries, outcome
from analyzers.history.load import History
from analyzers.judge.cycle_search import LEVELS

SEND_OUTCOMES = {"ok": "acknowledged and committed", "fail": "not visible", "info": "unknown"}


def of_cycle(history: History, anomaly: str, cycle: Sequence[int], labels: Labels) -> Surroundings:
    """cycle: operation ids of the transactions; each precedes the next, and the last precedes the first."""
    shown = cycle[:MAX_ROWS]
    pairs = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))[:MAX_ROWS]
    rows = {row.op: row for row in evidence.transactions(history, {op for pair in pairs for op in pair})}
    steps = evidence.steps(history, shown)
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
        if op in steps and steps[op].is_cut:
            rows, total = steps[op].rows, steps[op].total
            yield f"operations of transaction {operation_name(op)}: the first {len(rows)} of {total:,} are shown"
    if len(cycle) > MAX_ROWS:
        yield f"the cycle: the first {MAX_ROWS} of {len(cycle):,} transactions are shown"


def _dependencies(
    history: History, anomaly: str, pairs: Sequence[tuple[int, int]], rows: Mapping[int, Row], labels: Labels
) -> Iterator[tuple[str, ...]]:
    """All reasons of the kinds that count for the anomaly; the order in time only for a pair without another."""
    kinds = LEVELS[anomaly]
    reasons: dict[tuple[int, int], list[tuple[str, str]]] = {pair: [] for pair in pairs}
    if "wr" in kinds:
        for row in dependencies.read_dependencies(history, pairs):
            reason = (
                f"{operation_name(row.target)} polled {value_name(row.value)} of {operation_name(row.source)} from "
                f"{row.topic}-{row.partition} at offset {row.offset}, {labels.at(row.time)}"
            )
            reasons[row.source, row.target].append(("wr", reason))
    if "ww" in kinds:
        for row in dependencies.write_dependencies(history, pairs):
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
