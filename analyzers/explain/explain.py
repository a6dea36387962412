"""Explains one occurrence of an anomaly: the life of its values, the log around it, its readers and the faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import functions as F

from analyzers.catalogue.registry import ANOMALIES
from analyzers.explain.cycles import of_cycle
from analyzers.explain.entries import (
    deletion_entries,
    fault_entries,
    faults_at_text,
    leader_entries,
    poll_entries,
    read_entries,
    send_entries,
)
from analyzers.explain.evidence import log as evidence
from analyzers.explain.evidence.excerpt import Excerpt
from analyzers.explain.evidence.log import Log
from analyzers.explain.explanation import Explanation, Surroundings
from analyzers.explain.facts import facts
from analyzers.explain.groups import NAMES as OF_GROUPS
from analyzers.explain.groups import of_group
from analyzers.explain.slots import reader_line, slots
from analyzers.explain.time_axis import Entry, TimeAxis
from analyzers.explain.transactions import of_stable_offsets, of_transaction
from analyzers.history.fault_events import FaultEvent, fault_events
from analyzers.history.load import History
from analyzers.history.run_progress import RunProgress
from analyzers.judge.cycles import CYCLES, find_cycle
from analyzers.judge.find import Found
from analyzers.verdict.names import client_names
from workloads.history.schema import HARNESS, NEMESIS

VALUES = ("value", "other_value")
OFFSETS = ("offset", "last_offset", "previous", "skipped")
OPERATIONS = ("op", "read_op")


def explain(history: History, found: Found, number: int, *, around: int = 3) -> Explanation:
    """Explain occurrence `number`, from 1, of an anomaly that was found in the history of one run.

    found   has at least `number` examples.
    around  the number of offsets to show on either side.
    """
    axis = TimeAxis(_began(history))
    if found.anomaly in CYCLES:
        return _explain_cycle(history, found, number, axis)
    example = found.examples[number - 1]
    if example.get("topic") is None or example.get("partition") is None:
        return _explain_without_log(history, found, number, axis)
    log = Log(topic=example["topic"], partition=example["partition"])
    values = [example[name] for name in VALUES if example.get(name) is not None]
    ops = [example[name] for name in OPERATIONS if example.get(name) is not None]
    sends, polls = evidence.sends(history, values), evidence.polls(history, values)
    operations = evidence.operations(history, log, ops)
    offsets = _offsets(example, sends, polls)
    readers = evidence.readers(history, log, offsets, around)

    entries = [
        *send_entries(history, sends.rows),
        *poll_entries(polls.rows),
        *read_entries(operations.rows),
    ]
    times = [entry.time for entry in entries]
    if example["time"] is not None:
        times += [example["time"], example["time"] + (example.get("lasted") or 0)]
    first, last = (min(times), max(times)) if times else (0, 0)
    changes = evidence.changes(history, log, first, last)
    events = _fault_events(history)
    more = _surroundings(history, found.anomaly, log, example, axis)
    entries += [
        *leader_entries(changes.rows, first, axis),
        *fault_entries(events, first, last),
        *deletion_entries(operations.rows),
        *more.entries,
    ]
    if example["time"] is not None:
        what = f"{found.anomaly} {faults_at_text(events, example['time'])}"
        entries.append(Entry(time=example["time"], order=9, who="finding", what=what))
    excerpts = {
        "sends": sends,
        "polls of the value": polls,
        "reads of the log, and deletions of its records": operations,
        "changes of leadership and ISR": changes,
        "readers near the finding": readers,
    }
    return Explanation(
        **_headline(history, found, number, axis),
        subject=ANOMALIES[found.anomaly].about(example),
        log=log,
        line=axis.timeline(entries),
        tables=more.tables,
        slots=tuple(slots(evidence.slots(history, log, offsets, around), offsets, values, around, axis)),
        readers=tuple(reader_line(row) for row in readers.rows),
        notes=(
            *(
                f"{what}: the first {len(excerpt.rows)} of {excerpt.total:,} are shown"
                for what, excerpt in excerpts.items()
                if excerpt.is_cut
            ),
            *more.notes,
        ),
    )


def _explain_cycle(history: History, found: Found, number: int, axis: TimeAxis) -> Explanation:
    example = found.examples[number - 1]
    cycle = of_cycle(history, found.anomaly, find_cycle(history, found.anomaly, number), axis)
    times = [*(entry.time for entry in cycle.entries), example["time"]]
    what = f"{found.anomaly}: the first transaction of the cycle begins"
    entries = [
        *cycle.entries,
        *fault_entries(_fault_events(history), min(times), max(times)),
        Entry(time=example["time"], order=9, who="finding", what=what),
    ]
    return Explanation(
        **_headline(history, found, number, axis),
        subject=None,
        log=None,
        line=axis.timeline(entries),
        tables=cycle.tables,
        notes=cycle.notes,
    )


def _explain_without_log(history: History, found: Found, number: int, axis: TimeAxis) -> Explanation:
    """Of a subject that is no log, such as a node or a group: the evidence, and the faults at that time."""
    example = found.examples[number - 1]
    at, events = example["time"], _fault_events(history)
    entries: list[Entry] = []
    if at is not None:
        what = f"{found.anomaly} {faults_at_text(events, at)}"
        entries = [
            *fault_entries(events, at, at + (example.get("lasted") or 0)),
            Entry(time=at, order=9, who="finding", what=what),
        ]
    return Explanation(
        **_headline(history, found, number, axis),
        subject=ANOMALIES[found.anomaly].about(example),
        log=None,
        line=axis.timeline(entries),
    )


def _headline(history: History, found: Found, number: int, axis: TimeAxis) -> dict[str, Any]:
    """The fields that every explanation has."""
    anomaly = ANOMALIES[found.anomaly]
    return {
        "run": found.run,
        "anomaly": found.anomaly,
        "number": number,
        "count": found.count,
        "summary": anomaly.summary(found.count),
        "facts": facts(anomaly, found.examples[number - 1], began=axis.began, clients=_clients(history)),
    }


def _surroundings(
    history: History, anomaly: str, log: Log, example: Mapping[str, int | None], axis: TimeAxis
) -> Surroundings:
    if anomaly in OF_GROUPS:
        return of_group(history, log, example, axis)
    if anomaly == "read-above-lso":
        return of_stable_offsets(history, log, example)
    if example.get("transaction") is not None:
        return of_transaction(history, example, axis)
    return Surroundings()


def _offsets(example: Mapping[str, int | None], sends: Excerpt, polls: Excerpt) -> Sequence[int]:
    """The offsets that the finding is about, and the first ones at which its values were written or read."""
    named = {offset for name in OFFSETS if (offset := example.get(name)) is not None}
    seen = {row.offset for row in (*sends.rows, *polls.rows) if row.offset is not None}
    return sorted({*named, *sorted(seen)[:4]})


def _began(history: History) -> int | None:
    tables = (history.records, history.operations.where("f <> 'topic'"))
    starts = [table.agg(F.min("invoked").alias("began")) for table in tables]
    known = [row.began for row in starts[0].union(starts[1]).collect() if row.began is not None]
    return min(known, default=None)


def _clients(history: History) -> dict[int, str]:
    """Names by process number, of the clients that a harness started."""
    progress = RunProgress()
    for row in history.operations.where((F.col("process") == HARNESS) & (F.col("f") == "worker")).collect():
        progress.note(row.f, row.value)
    return client_names(progress.roles)


def _fault_events(history: History) -> tuple[FaultEvent, ...]:
    rows = history.operations.where(F.col("process") == NEMESIS).collect()
    return fault_events(sorted(rows, key=lambda row: (row.invoked, row.op)))
