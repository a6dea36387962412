"""A finding, explained: the life of its values, the log around them, who read what, and which faults were on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as F

from analyzers.anomalies.catalogue import ANOMALIES
from analyzers.explain.evidence import log as evidence
from analyzers.explain.evidence.log import Log
from analyzers.explain.explanation import (
    Clock,
    Entry,
    Explanation,
    Slot,
    Surroundings,
    line,
    name,
    operation_name,
)
from analyzers.explain.groups import NAMES as OF_GROUPS
from analyzers.explain.groups import of_group
from analyzers.explain.transactions import of_cycle, of_stable_offsets, of_transaction
from analyzers.history.fault_events import FaultEvent, fault_events
from analyzers.history.load import History
from analyzers.judge.analyze import MOMENTS, SPANS
from analyzers.judge.cycles import CYCLES, find_cycle
from analyzers.judge.find import Found
from workloads.history.schema import NEMESIS

VALUES = ("value", "other_value")
OFFSETS = ("offset", "last_offset", "previous", "skipped")
OPERATIONS = ("op", "read_op")
OF_TRANSACTIONS = {"ok": "committed", "fail": "not committed", "info": "not known to be committed"}
"""A send within one completes with it, whatever was answered to the send."""

NAMED = (*OPERATIONS, "transaction", "other")


def explain(history: History, found: Found, number: int, *, around: int = 3) -> Explanation:
    """The history of one run, of which `found` is an anomaly with at least `number` examples.

    around  how many offsets to show on either side.
    """
    if found.anomaly in CYCLES:
        return _explain_cycle(history, found, number)
    began = _began(history)
    example = found.examples[number - 1]
    log = Log(topic=example["topic"], partition=example["partition"])
    values = [example[name] for name in VALUES if example.get(name) is not None]
    offsets = sorted({example[name] for name in OFFSETS if example.get(name) is not None})
    ops = [example[name] for name in OPERATIONS if example.get(name) is not None]
    sends, polls = evidence.sends(history, values), evidence.polls(history, values)
    reads = evidence.reads(history, log, ops)
    placed = {row.offset for row in (*sends.rows, *polls.rows) if row.offset is not None}
    offsets = sorted({*offsets, *sorted(placed)[:4]})
    near = evidence.slots(history, log, offsets, around)
    readers = evidence.readers(history, log, offsets, around)
    events = _events(history)

    clock = Clock(began)
    moments = [
        *_sent(history, sends.rows),
        *_polled(polls.rows),
        *_read(reads.rows),
    ]
    times = [at for at, *_ in moments]
    if example["time"] is not None:
        times += [example["time"], example["time"] + (example.get("lasted") or 0)]
    first, last = (min(times), max(times)) if times else (0, 0)
    changes = evidence.changes(history, log, first, last)
    moments += _led(changes.rows, first, clock)
    moments += _struck(events, first, last)
    more = _surroundings(history, found.anomaly, log, example, clock)
    moments += more.entries
    if example["time"] is not None:
        moments.append((example["time"], 9, "finding", f"{found.anomaly} {_faults(events, example['time'])}"))
    notes = [
        f"{what}: the first {len(some.rows)} of {some.total:,} are shown"
        for what, some in (
            ("sends", sends), ("reads of the value", polls), ("reads of the log", reads),
            ("changes of leadership and ISR", changes), ("readers nearby", readers),
        )
        if some.more
    ]  # fmt: skip
    return Explanation(
        **_of_itself(found, number, clock),
        log=log,
        line=line(moments, began),
        tables=more.tables,
        slots=tuple(_slots(near, offsets, values, around, clock)),
        readers=tuple(_reader(row) for row in readers.rows),
        notes=(*notes, *more.notes),
    )


def _explain_cycle(history: History, found: Found, number: int) -> Explanation:
    """Of transactions that depend on one another in a circle, which has no place in one log."""
    began = _began(history)
    clock = Clock(began)
    example = found.examples[number - 1]
    told = of_cycle(history, found.anomaly, find_cycle(history, found.anomaly, number), clock)
    times = [at for at, *_ in told.entries] + [example["time"]]
    events = _events(history)
    moments = [
        *told.entries,
        *_struck(events, min(times), max(times)),
        (example["time"], 9, "finding", f"{found.anomaly}: the first transaction of the cycle begins"),
    ]
    return Explanation(
        **_of_itself(found, number, clock),
        log=None,
        line=line(moments, began),
        tables=told.tables,
        notes=told.notes,
    )


def _of_itself(found: Found, number: int, clock: Clock) -> dict[str, Any]:
    """What a finding says without a look at the history."""
    return {
        "run": found.run,
        "anomaly": found.anomaly,
        "number": number,
        "count": found.count,
        "summary": ANOMALIES[found.anomaly].summary(found.count),
        "facts": _facts(found.examples[number - 1], clock),
    }


def _surroundings(
    history: History, anomaly: str, log: Log, example: Mapping[str, int | None], clock: Clock
) -> Surroundings:
    if anomaly in OF_GROUPS:
        return of_group(history, log, example, clock)
    if anomaly == "read-above-lso":
        return of_stable_offsets(history, log, example)
    if example.get("transaction") is not None:
        return of_transaction(history, example, clock)
    return Surroundings()


def _began(history: History) -> int | None:
    starts = [table.agg(F.min("invoked").alias("began")) for table in (history.records, history.operations)]
    told = [row.began for row in starts[0].union(starts[1]).collect() if row.began is not None]
    return min(told, default=None)


def _facts(example: Mapping[str, int | None], clock: Clock) -> dict[str, str]:
    """What the check shows besides its place and time."""
    return {
        what: _fact(what, told, clock)
        for what, told in example.items()
        if what not in ("topic", "partition", "time")
    }


def _fact(what: str, told: int | None, clock: Clock) -> str:
    if told is None:
        return "unknown"
    if what in SPANS:
        return f"{told / 1e9:.3f} s"
    if what in MOMENTS:
        return clock.at(told)
    if what in VALUES:
        return name(told)
    return operation_name(told) if what in NAMED else str(told)


def _events(history: History) -> tuple[FaultEvent, ...]:
    rows = history.operations.where(F.col("process") == NEMESIS).collect()
    return fault_events(sorted(rows, key=lambda row: (row.invoked, row.op)))


def _sent(history: History, rows: Sequence[Row]) -> Iterator[Entry]:
    outcomes = {"ok": "acknowledged", "fail": "refused", "info": "without an answer"}
    for row in rows:
        log, who = Log(topic=row.topic, partition=row.partition), f"process {row.process}"
        yield row.invoked, 1, who, f"sends {name(row.value)} to {log}"
        why = f" (attempts: {row.error})" if row.error else ""
        place = "" if row.offset is None else f" at offset {row.offset}"
        if row.completed is None:
            yield row.invoked, 2, who, f"never learns what became of {name(row.value)}{why}"
            continue
        came = outcomes[row.type] if row.transaction is None else OF_TRANSACTIONS[row.type]
        yield row.completed, 2, who, f"{came}: {name(row.value)}{place}{why}"
        if row.type == "ok":
            for told in evidence.leaders(history, log, row.completed):
                age = (row.completed - told.time) / 1e9
                yield (
                    row.completed,
                    3,
                    f"broker {told.node}",
                    f"leads {_view(told)}, as it said {age:.3f} s before",
                )


def _polled(rows: Sequence[Row]) -> Iterator[Entry]:
    for row in rows:
        kind = "" if row.type == "ok" else f" ({row.type})"
        often = "" if row.times == 1 else f", {row.times:,} times in all"
        epoch = "" if row.leader_epoch is None else f", epoch {row.leader_epoch}"
        log = Log(topic=row.topic, partition=row.partition)
        yield (
            row.time,
            4,
            _who(row),
            f"reads {name(row.value)} from {log} at offset {row.offset}{epoch}{kind}{often}",
        )


def _read(rows: Sequence[Row]) -> Iterator[Entry]:
    for row in rows:
        what, who = f"{row.f} of {row.topic}-{row.partition}", f"process {row.process}"
        yield row.invoked, 0, who, f"begins a {what} from offset {row.start_offset}"
        if row.completed is not None:
            how = "done" if row.type == "ok" else f"given up ({row.error or row.type})"
            yield row.completed, 5, who, f"{how}: {what} to the end {row.end_offset} it was told (exclusive)"


def _led(rows: Sequence[Row], first: int, clock: Clock) -> Iterator[Entry]:
    for row in rows:
        since = "" if row.time >= first else f", since {clock.at(row.time).removeprefix('at ')}"
        yield max(row.time, first), 0, f"broker {row.node}", f"leads {_view(row)}{since}"


def _struck(events: Sequence[FaultEvent], first: int, last: int) -> Iterator[Entry]:
    for event in events:
        if event.began is None or event.began > last or (event.ended is not None and event.ended < first):
            continue
        who = f"fault {event.event}"
        yield event.began, 0, who, f"{event.name()}: possibly at work from here"
        heal = event.heal
        if heal is not None and heal.surely is not None:
            yield heal.surely[0], 0, who, f"{event.name()}: surely at work from here"
            yield heal.surely[1], 6, who, f"{event.name()}: surely at work until here"
        if event.ended is not None:
            over = "over for certain" if heal is not None and heal.effective else "not known to be healed"
            yield event.ended, 6, who, f"{event.name()}: {over}"


def _faults(events: Sequence[FaultEvent], time: int) -> str:
    surely = [e.name() for e in events if e.surely_active(time)]
    possibly = [e.name() for e in events if e.active(time) and e.name() not in surely]
    said = [
        f"{word} {', '.join(names)}" for word, names in (("surely", surely), ("possibly", possibly)) if names
    ]
    return f"(at work: {'; '.join(said)})" if said else "(no fault at work)"


def _slots(
    rows: Sequence[Row], offsets: Sequence[int], values: Sequence[int], around: int, clock: Clock
) -> Iterator[Slot]:
    seen = {row.offset for row in rows}
    # Where the log was seen on both sides, a hole is worth a line; beyond that there may be nothing.
    holes = {o for o in range(min(seen), max(seen)) if o not in seen} if seen else set()
    near = {o for o in holes if any(abs(o - focus) <= around for focus in offsets)}
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
            value=name(row.value) if row.value is not None else f"({row.problem})",
            epoch=row.epoch,
            written=f"acknowledged to process {row.acked}" if row.acked is not None else "",
            read=_readers(row, clock),
            focus=offset in offsets and (not values or row.value in values),
        )


def _order(row: Row | None) -> int:
    return -1 if row is None or row.value is None else int(row.value)


def _readers(row: Row, clock: Clock) -> str:
    if not row.readers:
        return "nobody"
    many = f"{row.readers:,} process{'es' * (row.readers > 1)}"
    return f"{many}, first {clock.at(row.first_read)}{', final read' * bool(row.in_final)}"


def _reader(row: Row) -> tuple[str, str]:
    seen = [f"{offset}={name(value) if value is not None else '?'}" for _, offset, value in row.seen]
    return _who(row), " ".join(seen[: evidence.CAP]) + (" ..." * (len(seen) > evidence.CAP))


def _who(row: Row) -> str:
    session = "" if row.session is None else f", session {row.session}"
    return f"process {row.process}{session}{', final read' * bool(row.final)}"


def _view(row: Row) -> str:
    isr = ",".join(map(str, sorted(row.isr))) if row.isr is not None else "?"
    ends = "" if row.log_end is None else f", high watermark {row.high_watermark}, log end {row.log_end}"
    return f"in epoch {row.leader_epoch} with ISR {isr}{ends}"
