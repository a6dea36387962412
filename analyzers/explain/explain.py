"""Explains findings of a run: the life of their values, the log around them, their readers and the faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analyzers.catalogue.anomaly import Anomaly, Evidence, Value
from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.catalogue.registry import ANOMALIES, CHECKS, bound_checks
from analyzers.explain.cycles import of_cycle
from analyzers.explain.explanation import Entry, Explanation, Labels, Surroundings
from analyzers.explain.groups import NAMES as OF_GROUPS
from analyzers.explain.groups import of_group
from analyzers.explain.log import (
    deletion_entries,
    fault_entries,
    faults_at_text,
    leader_entries,
    leadership_changes,
    operation_rows,
    poll_entries,
    polls_of,
    read_entries,
    reader_line,
    reader_rows,
    send_entries,
    sends_of,
    slot_rows,
    slots,
)
from analyzers.explain.rows import Excerpt, Log
from analyzers.explain.transactions import of_stable_offsets, of_transaction
from analyzers.history.fault_events import FaultEvent, fault_events
from analyzers.history.incarnations import by_incarnation, cuts, topic_changes
from analyzers.history.load import History, load, release
from analyzers.history.run_progress import RunProgress
from analyzers.history.sources import Location, sources
from analyzers.judge.cycles import CYCLES, find_cycle, find_cycles
from analyzers.judge.examples import computed_example
from analyzers.judge.find import CheckResult, find
from analyzers.verdict.finding import rank
from analyzers.verdict.verdict import Verdict
from analyzers.verdict.wording import client_names, write_name
from workloads.history.schema import HARNESS, NEMESIS


class CannotExplain(LookupError):
    """The search for the finding failed. The message says why."""


class NoSuchFinding(CannotExplain):
    """The search succeeded, but the run has no such finding."""


def explanations(
    spark: SparkSession,
    run: Location,
    *,
    anomaly: str | None = None,
    number: int = 1,
    bounds: Bounds = NONE,
    around: int = 3,
    stored: Verdict | None = None,
) -> Iterator[Explanation]:
    """Explain occurrence `number` of an anomaly, or for None of each anomaly in the run, worst first.

    run     a directory with the history of one run. bounds  those of the run's experiment: exceeding one is an
    anomaly, too. around  the number of offsets to show on either side. Raises NoSuchFinding if there is no such
    occurrence, and CannotExplain if the search for it failed. For None, anomalies with fewer occurrences are left
    out.

    stored  the run's verdict: an occurrence that is among its examples is not looked for again."""
    directories = sources(spark, [run])
    history = load(spark, directories)
    try:
        logs = by_incarnation(history, cuts(topic_changes(history, directories)))
        known = stored_result(stored, anomaly, number)
        began = stored.began if stored is not None and known is not None else None
        for found in [known] if known is not None else _find(logs, anomaly, number, bounds):
            yield explain(logs, found, number, around=around, began=began)
    finally:
        release(spark, history)


def stored_result(verdict: Verdict | None, anomaly: str | None, number: int) -> CheckResult | None:
    """The finding of a stored verdict, if the occurrence is among its examples; a cycle has to be searched again."""
    if verdict is None or verdict.began is None or anomaly in (None, *CYCLES):
        return None
    for each in verdict.findings:
        if each.anomaly == anomaly and number <= len(each.examples):
            try:
                examples = [computed_example(anomaly, example, verdict.began) for example in each.examples]
            except (KeyError, TypeError):
                return None  # The verdict is one of another version.
            return CheckResult(run=verdict.run, anomaly=anomaly, count=each.count, examples=tuple(examples))
    return None


def _find(history: History, anomaly: str | None, number: int, bounds: Bounds) -> list[CheckResult]:
    checks = [check for check in (*CHECKS, *bound_checks(bounds)) if anomaly in (None, check.name)]
    found, crashed = find(history, checks, examples=number)
    found += _find_cycles(history, anomaly, number)
    if crashed and not found:
        raise CannotExplain(f"the check {crashed[0].anomaly} crashed: {crashed[0].error}")
    if anomaly is not None and (not found or found[0].count < number):
        count = found[0].count if found else 0
        raise NoSuchFinding(
            f"{anomaly}/{number}: the run has {count:,} finding{'s' * (count != 1)} of this anomaly"
        )
    return sorted((each for each in found if each.count >= number), key=lambda each: rank(each.anomaly))


def _find_cycles(history: History, anomaly: str | None, number: int) -> list[CheckResult]:
    if anomaly not in (None, *CYCLES) or not history.operations.where("f = 'txn'").limit(1).count():
        return []
    found, unsearched = find_cycles(history, examples=number)
    found = [each for each in found if anomaly in (None, each.anomaly)]
    if anomaly is not None and not found and unsearched:
        raise CannotExplain(f"{anomaly}: {unsearched[0].sentence}")
    return found


VALUES = ("value", "other_value")
OFFSETS = ("offset", "last_offset", "previous", "skipped")
OPERATIONS = ("op", "read_op")

STATEMENTS = 3
"""At the same time: each takes longer to be planned by the driver than to be executed."""


def explain(
    history: History, found: CheckResult, number: int, *, around: int = 3, began: int | None = None
) -> Explanation:
    """Explain occurrence `number`, from 1, of an anomaly that was found in the history of one run.

    found   has at least `number` examples.
    around  the number of offsets to show on either side.
    began   ns, of the run's first operation; None: the history is searched for it.
    """
    with ThreadPoolExecutor(STATEMENTS) as pool:
        first = pool.submit(lambda: _began(history) if began is None else began)
        recorded = pool.submit(_recorded, history)

        def known() -> tuple[Labels, Sequence[FaultEvent]]:
            clients, events = recorded.result()
            return Labels(began=first.result(), clients=clients), events

        example = found.examples[number - 1]
        if found.anomaly in CYCLES:
            return _explain_cycle(history, found, number, *known())
        if example.get("topic") is None or example.get("partition") is None:
            return _explain_without_log(found, number, *known())
        return _explain_with_log(history, found, number, around, known, pool)


def _explain_with_log(
    history: History,
    found: CheckResult,
    number: int,
    around: int,
    known: Callable[[], tuple[Labels, Sequence[FaultEvent]]],
    pool: Executor,
) -> Explanation:
    """known: waits for the names of clients, and for the faults, which are being collected."""
    example = found.examples[number - 1]
    log = Log(topic=example["topic"], partition=example["partition"])
    values = [example[name] for name in VALUES if example.get(name) is not None]
    ops = [example[name] for name in OPERATIONS if example.get(name) is not None]
    asked = (
        pool.submit(sends_of, history, values),
        pool.submit(polls_of, history, values),
        pool.submit(operation_rows, history, log, ops),
    )
    sends, polls, operations = (each.result() for each in asked)
    offsets = _offsets(example, sends, polls)
    near = (
        pool.submit(reader_rows, history, log, offsets, around),
        pool.submit(slot_rows, history, log, offsets, around),
    )
    labels, events = known()
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
    changes = leadership_changes(history, log, first, last)
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
        notes=(*(note for what, excerpt in excerpts.items() for note in excerpt.notes(what)), *more.notes),
    )


def _explain_cycle(
    history: History, found: CheckResult, number: int, labels: Labels, events: Sequence[FaultEvent]
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
    found: CheckResult, number: int, labels: Labels, events: Sequence[FaultEvent]
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


def _headline(found: CheckResult, number: int, labels: Labels) -> dict[str, Any]:
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


def _recorded(history: History) -> tuple[Mapping[int, str], tuple[FaultEvent, ...]]:
    """The names, by process number, of the clients that a harness started, and the faults of the nemesis."""
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
    return clients, fault_events(of_nemesis, clients)


def facts(
    anomaly: Anomaly, example: Mapping[str, Any], *, began: int | None, clients: Mapping[int, str]
) -> dict[str, str]:
    """By name. The subject and the time of the finding are shown elsewhere.

    The timeline and the tables name clients by number and writes as writer:sequence, because they name many. Here,
    the name that the verdict uses follows in brackets, once for each.

    began    ns, of the run's first operation. clients  names by process number.
    """
    given: set[str] = set()
    found = {}
    for name, kind in anomaly.evidence.items():
        if name not in example:
            continue
        found[name] = kind.explain(example[name], began)
        usual = _usual_name(name, kind, example[name], clients)
        if usual is not None and usual not in given:
            given.add(usual)
            found[name] += f" ({usual})"
    return found


def _usual_name(name: str, kind: Evidence, value: Any, clients: Mapping[int, str]) -> str | None:
    """As the verdict has it; None where that is the plain number."""
    if name == "process":
        return clients.get(value)
    is_write = isinstance(kind, Value) and value is not None and kind.names_write(value)
    return write_name(value, clients) if is_write else None
