"""Explains one occurrence of an anomaly: the life of its values, the log around it, its readers and the faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

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
from analyzers.explain.labels import Labels
from analyzers.explain.slots import reader_line, slots
from analyzers.explain.time_axis import Entry
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

STATEMENTS = 3
"""At the same time: each takes longer to be planned by the driver than to be executed."""


def explain(
    history: History, found: Found, number: int, *, around: int = 3, began: int | None = None
) -> Explanation:
    """Explain occurrence `number`, from 1, of an anomaly that was found in the history of one run.

    found   has at least `number` examples.
    around  the number of offsets to show on either side.
    began   ns, of the run's first operation; None: the history is searched for it.
    """
    with ThreadPoolExecutor(STATEMENTS) as pool:
        first = pool.submit(_began, history) if began is None else _done(began)
        return _explain(history, found, number, around, first, pool)


def _done(began: int) -> Future[int | None]:
    future: Future[int | None] = Future()
    future.set_result(began)
    return future


def _explain(
    history: History, found: Found, number: int, around: int, began: Future[int | None], pool: Executor
) -> Explanation:
    known = pool.submit(_known, history)
    example = found.examples[number - 1]
    if found.anomaly in CYCLES:
        labels = Labels(began=began.result(), clients=known.result().clients)
        return _explain_cycle(history, found, number, labels, known.result().events)
    if example.get("topic") is None or example.get("partition") is None:
        labels = Labels(began=began.result(), clients=known.result().clients)
        return _explain_without_log(found, number, labels, known.result().events)
    log = Log(topic=example["topic"], partition=example["partition"])
    values = [example[name] for name in VALUES if example.get(name) is not None]
    ops = [example[name] for name in OPERATIONS if example.get(name) is not None]
    asked = (
        pool.submit(evidence.sends, history, values),
        pool.submit(evidence.polls, history, values),
        pool.submit(evidence.operations, history, log, ops),
    )
    sends, polls, operations = (each.result() for each in asked)
    offsets = _offsets(example, sends, polls)
    near = (
        pool.submit(evidence.readers, history, log, offsets, around),
        pool.submit(evidence.slots, history, log, offsets, around),
    )
    events = known.result().events
    labels = Labels(began=began.result(), clients=known.result().clients)
    surroundings = pool.submit(_surroundings, history, found.anomaly, log, example, labels)
    entries = [
        *send_entries(history, sends.rows, labels),
        *poll_entries(polls.rows, labels),
        *read_entries(operations.rows, labels),
    ]
    times = [entry.time for entry in entries]
    if example["time"] is not None:
        times += [example["time"], example["time"] + (example.get("lasted") or 0)]
    first, last = (min(times), max(times)) if times else (0, 0)
    changes = evidence.changes(history, log, first, last)
    readers, seen = near[0].result(), near[1].result()
    more = surroundings.result()
    entries += [
        *leader_entries(changes.rows, first, labels),
        *fault_entries(events, first, last),
        *deletion_entries(operations.rows, labels),
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
        **_headline(found, number, labels),
        subject=ANOMALIES[found.anomaly].about(example),
        log=log,
        line=labels.timeline(entries),
        tables=more.tables,
        slots=tuple(slots(seen, offsets, values, around, labels)),
        readers=tuple(reader_line(row, labels) for row in readers.rows),
        notes=(
            *(
                f"{what}: the first {len(excerpt.rows)} of {excerpt.total:,} are shown"
                for what, excerpt in excerpts.items()
                if excerpt.is_cut
            ),
            *more.notes,
        ),
    )


def _explain_cycle(
    history: History, found: Found, number: int, labels: Labels, events: Sequence[FaultEvent]
) -> Explanation:
    example = found.examples[number - 1]
    cycle = of_cycle(history, found.anomaly, find_cycle(history, found.anomaly, number), labels)
    times = [*(entry.time for entry in cycle.entries), example["time"]]
    what = f"{found.anomaly}: the first transaction of the cycle begins"
    entries = [
        *cycle.entries,
        *fault_entries(events, min(times), max(times)),
        Entry(time=example["time"], order=9, who="finding", what=what),
    ]
    return Explanation(
        **_headline(found, number, labels),
        subject=None,
        log=None,
        line=labels.timeline(entries),
        tables=cycle.tables,
        notes=cycle.notes,
    )


def _explain_without_log(
    found: Found, number: int, labels: Labels, events: Sequence[FaultEvent]
) -> Explanation:
    """Of a subject that is no log, such as a node or a group: the evidence, and the faults at that time."""
    example = found.examples[number - 1]
    at = example["time"]
    entries: list[Entry] = []
    if at is not None:
        what = f"{found.anomaly} {faults_at_text(events, at)}"
        entries = [
            *fault_entries(events, at, at + (example.get("lasted") or 0)),
            Entry(time=at, order=9, who="finding", what=what),
        ]
    return Explanation(
        **_headline(found, number, labels),
        subject=ANOMALIES[found.anomaly].about(example),
        log=None,
        line=labels.timeline(entries),
    )


def _headline(found: Found, number: int, labels: Labels) -> dict[str, Any]:
    """The fields that every explanation has."""
    anomaly = ANOMALIES[found.anomaly]
    return {
        "run": found.run,
        "anomaly": found.anomaly,
        "number": number,
        "count": found.count,
        "summary": anomaly.summary(found.count),
        "facts": facts(anomaly, found.examples[number - 1], began=labels.began, clients=labels.clients),
    }


def _surroundings(
    history: History, anomaly: str, log: Log, example: Mapping[str, int | None], labels: Labels
) -> Surroundings:
    if anomaly in OF_GROUPS:
        return of_group(history, log, example, labels)
    if anomaly == "read-above-lso":
        return of_stable_offsets(history, log, example)
    if example.get("transaction") is not None:
        return of_transaction(history, example, labels)
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


class _Known(NamedTuple):
    clients: Mapping[int, str]
    """Names by process number, of the clients that a harness started."""
    events: tuple[FaultEvent, ...]


def _known(history: History) -> _Known:
    """What the harness and the nemesis recorded."""
    progress = RunProgress()
    of_worker = (F.col("process") == HARNESS) & (F.col("f") == "worker")
    rows = history.operations.where(of_worker | (F.col("process") == NEMESIS)).collect()
    for row in rows:
        if row.process == HARNESS:
            progress.note(row.f, row.value)
    of_nemesis = sorted(
        (row for row in rows if row.process == NEMESIS), key=lambda row: (row.invoked, row.op)
    )
    clients = client_names(progress.roles, progress.instances)
    return _Known(clients=clients, events=fault_events(of_nemesis, clients))
