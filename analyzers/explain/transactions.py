"""What a finding about a transaction needs: its life, its records and their readers, and claims of its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Row

from analyzers.explain.evidence import transactions as evidence
from analyzers.explain.evidence.excerpt import Excerpt
from analyzers.explain.evidence.log import Log
from analyzers.explain.explanation import Surroundings, Table
from analyzers.explain.labels import Labels
from analyzers.explain.names import operation_name, value_name
from analyzers.explain.time_axis import Entry
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
    rows = evidence.transactions(history, [op])
    moment = time if time is not None else rows[0].invoked if rows else 0
    inits = evidence.inits(history, sorted({row.name for row in rows if row.name is not None}), moment)
    sent = evidence.sent_records(history, op, example.get("value"))
    table = _records(history, op, sent, example.get("value"), example.get("reader"), labels)
    return Surroundings(
        entries=(*life_entries(rows, labels), *_claim_entries(inits.rows, labels)),
        tables=(table,) if sent.rows else (),
        notes=tuple(
            f"{what}: the {which} {len(excerpt.rows)} of {excerpt.total:,} are shown"
            for what, which, excerpt in (
                ("records of the transaction", "first", sent),
                ("claims of its transactional id", "nearest", inits),
            )
            if excerpt.is_cut
        ),
    )


def of_stable_offsets(history: History, log: Log, example: Mapping[str, int | None]) -> Surroundings:
    """For a read above the last stable offset: the answers of leaders that it contradicts."""
    offset, time = example["offset"], example["time"]
    assert offset is not None
    assert time is not None
    answers = evidence.stable_offsets(history, log, time, offset)
    note = f"such answers: the first {len(answers.rows)} of {answers.total:,} are shown"
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
        notes=(note,) if answers.is_cut else (),
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
    readers = evidence.readers(history, [row.value for row in sent.rows])
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
    more = f" and others, {row.number:,} processes in total" if row.number > evidence.NAMED_READERS else ""
    return named + more
