"""The life of transactions: of the one a finding is about, and of those in a cycle with what ties them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Row

from analyzers.explain.evidence import transactions as evidence
from analyzers.explain.evidence.log import CAP, Log, Some
from analyzers.explain.explanation import Clock, Entry, Surroundings, Table, name, operation_name
from analyzers.history.load import History
from analyzers.judge.cycles import LEVELS

OUTCOMES = {
    ("ok", "commit"): "committed",
    ("ok", "abort"): "aborted",
    ("fail", "commit"): "failed: nothing of it is to be seen",
    ("fail", "abort"): "aborted",
}


def of_transaction(history: History, example: Mapping[str, int | None], clock: Clock) -> Surroundings:
    """For a finding that names a transaction: its life, those who claimed its id, its records and their readers."""
    op, at = example["transaction"], example["time"]
    assert op is not None
    found = evidence.transactions(history, [op])
    moment = at if at is not None else found[0].invoked if found else 0
    inits = evidence.inits(history, sorted({row.name for row in found if row.name is not None}), moment)
    parts = evidence.parts(history, op, example.get("value"))
    reader = example.get("reader")
    return Surroundings(
        entries=(*_lives(found), *_claims(inits.rows)),
        tables=(_records(history, op, parts, example.get("value"), reader, clock),) if parts.rows else (),
        notes=tuple(
            f"{what}: {which} {len(some.rows)} of {some.total:,} are shown"
            for what, which, some in (
                ("records of the transaction", "the first", parts),
                ("claims of its id", "those next to the finding,", inits),
            )
            if some.more
        ),
    )


def of_stable_offsets(history: History, log: Log, example: Mapping[str, int | None]) -> Surroundings:
    """For a read above the last stable offset: the answers that it goes against."""
    offset, at = example["offset"], example["time"]
    assert offset is not None
    assert at is not None
    told = evidence.stable(history, log, at, offset)
    return Surroundings(
        entries=tuple(
            (
                row.time,
                5,
                f"broker {row.node}",
                f"leads epoch {row.leader_epoch} and says {log} is stable up to {row.last_stable} (exclusive), "
                f"high watermark {row.high_watermark}, log end {row.log_end}; asked after the poll",
            )
            for row in told.rows
        ),
        notes=(f"such answers: the first {len(told.rows)} of {told.total:,} are shown",) if told.more else (),
    )


def of_cycle(history: History, anomaly: str, cycle: Sequence[int], clock: Clock) -> Surroundings:
    """For a circle of transactions: each with its operations, and why each comes before the next."""
    shown = cycle[:CAP]
    pairs = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))[:CAP]
    found = {row.op: row for row in evidence.transactions(history, {op for pair in pairs for op in pair})}
    steps = evidence.steps(history, shown)
    notes = [
        f"operations of transaction {operation_name(op)}: the first {len(steps[op].rows)} of {steps[op].total:,} are "
        f"shown"
        for op in shown
        if op in steps and steps[op].more
    ]
    if len(cycle) > len(shown):
        notes.append(f"the cycle: the first {len(shown)} of {len(cycle):,} transactions are shown")
    return Surroundings(
        entries=(
            *_lives([found[op] for op in shown if op in found]),
            *(entry for op in shown if op in steps for entry in _done(steps[op])),
        ),
        tables=(
            Table(
                title="The cycle: each before the next",
                headings=("transaction", "before", "kind", "because"),
                rows=tuple(_ties(history, anomaly, pairs, found, clock)),
            ),
            Table(
                title="Its transactions",
                headings=("transaction", "does", "value", "log", "offset", "what came of it"),
                rows=tuple(
                    row for op in shown for row in _operations(op, found.get(op), steps.get(op, Some()))
                ),
            ),
        ),
        notes=tuple(notes),
    )


def _ties(
    history: History, anomaly: str, pairs: Sequence[tuple[int, int]], found: Mapping[int, Row], clock: Clock
) -> Iterator[tuple[str, ...]]:
    """Of every pair all the reasons that count for the anomaly; by time where there is no other."""
    kinds = LEVELS[anomaly]
    why: dict[tuple[int, int], list[tuple[str, str]]] = {pair: [] for pair in pairs}
    if "wr" in kinds:
        for row in evidence.read_from(history, pairs):
            said = f"it polled {name(row.value)} from {row.topic}-{row.partition} at offset {row.offset}"
            why[row.source, row.target].append(("wr", f"{said}, {clock.at(row.time)}"))
    if "ww" in kinds:
        for row in evidence.followed(history, pairs):
            said = f"{row.topic}-{row.partition} holds {name(row.value)} at offset {row.offset}, then its "
            said += f"{name(row.next_value)} at {row.next_offset}"
            why[row.source, row.target].append(("ww", said))
    for (source, target), reasons in why.items():
        if not reasons and "realtime" in kinds and source in found and target in found:
            ended, began = clock.at(found[source].completed), clock.at(found[target].invoked)
            reasons.append(("realtime", f"it began {began}, when the other had ended {ended}"))
        for kind, said in reasons or [("?", "not told")]:
            yield operation_name(source), operation_name(target), kind, said


def _operations(op: int, row: Row | None, steps: Some) -> Iterator[tuple[str, ...]]:
    if row is not None:
        told = f"{row.name}, epoch {row.epoch}, process {row.process}"
        yield operation_name(op), "as a whole", "", "", "", f"{_outcome(row)} ({told})"
    for step in steps.rows:
        log = f"{step.topic}-{step.partition}"
        offset = "" if step.offset is None else str(step.offset)
        if step.f == "send":
            came = {"ok": "acknowledged and committed", "fail": "not to be seen", "info": "unknown"}[
                step.type
            ]
            yield operation_name(op), "sends", name(step.value), log, offset, came
        else:
            how = "read as committed" if step.committed else "read uncommitted"
            yield operation_name(op), "polls", name(step.value), log, offset, how


def _lives(rows: Sequence[Row]) -> Iterator[Entry]:
    for row in rows:
        who, which = f"process {row.process}", f"transaction {operation_name(row.op)}"
        yield row.invoked, 0, who, f"begins {which} (id {row.name}, epoch {row.epoch})"
        if row.ending is not None:
            yield row.ending, 5, who, f"asks to {row.outcome} {which}"
        if row.completed is None:
            yield row.invoked, 1, who, f"never learns what became of {which}"
        else:
            yield row.completed, 6, who, f"{which}: {_outcome(row)}"


def _claims(rows: Sequence[Row]) -> Iterator[Entry]:
    for row in rows:
        who = f"process {row.process}"
        yield row.invoked, 0, who, f"claims the transactional id {row.name}"
        if row.completed is not None:
            given = f"epoch {row.epoch}" if row.type == "ok" else row.type
            yield row.completed, 1, who, f"claim of {row.name} answered: {given}"


def _done(steps: Some) -> Iterator[Entry]:
    for row in steps.rows:
        who, log = f"process {row.process}", f"{row.topic}-{row.partition}"
        if row.f == "send":
            yield row.invoked, 2, who, f"sends {name(row.value)} to {log}"
        else:
            at = row.invoked if row.completed is None else row.completed
            yield at, 3, who, f"reads {name(row.value)} from {log} at offset {row.offset}"


def _records(
    history: History, op: int, parts: Some, value: int | None, reader: int | None, clock: Clock
) -> Table:
    polled = evidence.readers(history, [row.value for row in parts.rows])
    rows, marked = [], set()
    for position, row in enumerate(parts.rows):
        if row.value == value:
            marked.add(position)
        who = polled.get(row.value)
        said = "nobody" if who is None else ", ".join(_reader(each) for each in who.who)
        if who is not None and who.number > evidence.FEW:
            said += f" and others, {who.number:,} processes in all"
        if row.value == value and reader is not None:
            said += f"; not by {'the final reads' if reader == -1 else f'process {reader}'}"
        rows.append((
            name(row.value), f"{row.topic}-{row.partition}", "" if row.offset is None else str(row.offset),
            clock.at(row.invoked), {"ok": "committed", "fail": "not to be seen", "info": "unknown"}[row.type], said,
        ))  # fmt: skip
    return Table(
        title=f"What transaction {operation_name(op)} sent, and who read it",
        headings=("value", "log", "offset", "sent", "outcome", "read by"),
        rows=tuple(rows),
        marked=frozenset(marked),
    )


def _reader(row: Row) -> str:
    return f"process {row.process}{', final read' * row.final}{' (uncommitted)' * (not row.committed)}"


def _outcome(row: Row) -> str:
    if row.type == "info":
        return "unknown what became of it"
    return OUTCOMES.get((row.type, row.outcome), str(row.type))
