"""Checks over facts: every finding counted, and the first few of each anomaly as examples."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from pyspark.sql import DataFrame, Row

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.causes.evidence import Extent
from analyzers.facts.fact import Rows
from analyzers.facts.registry import FACTS
from analyzers.history.load import History
from analyzers.judge.suspects import Suspects, find_suspects
from analyzers.spark.statements import rows_over, sql_literal
from workloads.history.schema import VALUE_BITS

log = logging.getLogger(__name__)

PLACE = {"topic": "string", "partition": "bigint", "offset": "bigint"}
"""Evidence that says where findings lie: name to Spark's type. Null where an anomaly has none."""

ORDER = "struct(time, texts, numbers)"
"""SQL: the order of the findings of one anomaly; total, so that the examples are always the same."""

EXTENT = {
    "in_log": "count(*)",
    "first": "min(time)",
    "last": "max(time)",
    "low": "min(offset)",
    "high": "max(offset)",
}
"""Of the findings of one anomaly in one log; see `Extent`."""

Look = Callable[[History, Sequence[Check]], Suspects]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What a check found in a run."""

    run: str
    anomaly: str
    count: int
    examples: tuple[Mapping[str, Any], ...]
    """As Spark computes them (see `Evidence`): the subject, time (ns), the evidence. In order of time and subject."""
    extents: tuple[Extent, ...] = ()
    """One for each log and period with findings: how many, when and at which offsets."""


@dataclass(frozen=True, kw_only=True)
class Crashed:
    anomaly: str
    error: str


def find(
    history: History,
    checks: Sequence[Check],
    *,
    examples: int,
    facts: Mapping[str, Rows] = FACTS,
    strict: bool = False,
    first_look: Look = find_suspects,
    boundaries: Mapping[str, Sequence[int]] | None = None,
) -> tuple[list[CheckResult], list[Crashed]]:
    """What the checks find, by run and anomaly: after the first look one statement for each fact, three at a time.

    A check that crashes does not affect the others. With `strict`, its error is raised instead.

    boundaries  by run: times (ns, in order) that divide it into periods, in which extents are counted separately.
    """
    history = history.sharing()
    statement = _statement(boundaries or {}, examples)
    suspects = _suspects(history, checks, first_look)

    def rows_of(some: Sequence[Check]) -> list[Row]:
        fact = some[0].over
        part = suspects.confine(history, fact, some)
        if part is None:
            return []
        hits = _hits(facts[fact](part), some)
        return rows_over(hits, statement)

    by_fact = groupby(sorted(checks, key=attrgetter("over")), key=attrgetter("over"))
    groups = [list(group) for _, group in by_fact]
    rows: list[Row] = []
    crashed: list[Crashed] = []
    # For most histories, nearly all of the time is spent in Spark's driver, with one thread for each statement.
    with ThreadPoolExecutor(3, thread_name_prefix="kafkacheck-findings") as pool:
        for group, job in [(group, pool.submit(rows_of, group)) for group in groups]:
            try:
                rows += job.result()
            except Exception:  # Run the checks of this fact one by one to learn which of them fail.
                if strict:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
                for check in group:
                    try:
                        rows += rows_of([check])
                    except Exception as error:
                        crashed.append(_crashed(check, error))
    return list(_results(rows, checks, examples)), crashed


def _statement(boundaries: Mapping[str, Sequence[int]], examples: int) -> str:
    """Of the rows of ``{table}``: by log and period the extent of the findings, and the first of them (`shown`).

    Each task keeps the first findings and the counts of what it read, so that findings are neither sorted nor
    shuffled, however many there are. Those of the run are chosen from the first ones of its logs. One statement,
    because Spark analyses the whole plan again whenever a step is added to it.
    """
    extent = ", ".join(f"{sql} as {name}" for name, sql in EXTENT.items())
    period = _period(boundaries).replace("{", "{{").replace("}", "}}")  # the name of a run may have braces
    return f"""
        select run, anomaly, topic, partition, period, {extent},
            min_by({ORDER}, {ORDER}, {max(1, examples)}) as shown
        from (select *, {period} as period from {{table}})
        group by run, anomaly, topic, partition, period
    """


def _suspects(history: History, checks: Sequence[Check], first_look: Look) -> Suspects:
    try:
        return first_look(history, checks)
    except Exception:
        log.warning("the first look crashed, so every fact is computed in full", exc_info=True)
        return Suspects(runs={})


def _crashed(check: Check, error: Exception) -> Crashed:
    first_line = str(error).strip().partition("\n")[0]
    return Crashed(anomaly=check.name, error=f"{type(error).__name__}: {first_line}")


def _results(rows: Sequence[Row], checks: Sequence[Check], examples: int) -> Iterator[CheckResult]:
    anomalies = {check.name: check.anomaly for check in checks}
    in_order = sorted(rows, key=lambda row: (row.run, row.anomaly, _in_order(row.shown[0])))
    for (run, name), group in groupby(in_order, key=lambda row: (row.run, row.anomaly)):
        of_logs = list(group)
        extents = tuple(_extent(row, anomalies[name]) for row in of_logs)
        first = sorted((each for row in of_logs for each in row.shown), key=_in_order)[:examples]
        shown = tuple(_example(anomalies[name], each) for each in first)
        yield CheckResult(
            run=run, anomaly=name, count=sum(each.count for each in extents), examples=shown, extents=extents
        )


def _period(boundaries: Mapping[str, Sequence[int]]) -> str:
    """SQL: how many of the boundaries of its run lie at or before a finding. 0 for a finding without a time."""
    cases = [
        f"when {sql_literal(run)} then size(filter(array({', '.join(f'{each}L' for each in times)}), t -> t <= time))"
        for run, times in sorted(boundaries.items())
        if times
    ]
    return f"case run {' '.join(cases)} else 0 end" if cases else "0"


def _in_order(example: Row) -> tuple[Any, ...]:
    """A key that sorts as Spark does: by time, then by the subject and the evidence, nulls first."""
    return tuple(
        (each is not None, 0 if each is None else each)
        for each in (example.time, *example.texts, *example.numbers)
    )


def _hits(fact: DataFrame, checks: Sequence[Check]) -> DataFrame:
    """One row per broken row and check: run, anomaly, time, topic, partition, offset, texts, numbers."""
    broken = " or ".join(f"({check.where})" for check in checks)
    hits = ", ".join(f"if({check.where}, {_hit(check)}, null)" for check in checks)
    return fact.where(broken).selectExpr("run", f"inline(filter(array({hits}), hit -> hit is not null))")


def _hit(check: Check) -> str:
    """The subject and the evidence in two arrays, because all checks have to return rows of one type."""
    columns = check.anomaly.columns
    place = ", ".join(
        f"'{name}', cast({columns[name].column(name) if name in columns else 'null'} as {kind})"
        for name, kind in PLACE.items()
    )
    texts = ", ".join(each.column(name) for name, each in columns.items() if each.textual)
    numbers = ", ".join(each.column(name) for name, each in columns.items() if not each.textual)
    return (
        f"named_struct('anomaly', '{check.name}', 'time', cast({check.time} as bigint), {place}, "
        f"'texts', cast(array({texts}) as array<string>), 'numbers', cast(array({numbers}) as array<bigint>))"
    )


def _example(anomaly: Anomaly, row: Row) -> dict[str, Any]:
    """row: of time, texts, numbers."""
    texts, numbers = iter(row.texts), iter(row.numbers)
    values = {name: next(texts if each.textual else numbers) for name, each in anomaly.columns.items()}
    subject = {name: values.pop(name) for name in anomaly.subject.columns}
    return {**subject, "time": row.time, **values}


def _extent(row: Row, anomaly: Anomaly) -> Extent:
    named = (process for each in row.shown for process in _named(_example(anomaly, each)))
    return Extent(
        anomaly=row.anomaly,
        topic=row.topic,
        partition=row.partition,
        count=row.in_log,
        first=row.first,
        last=row.last,
        low=row.low,
        high=row.high,
        period=row.period,
        processes=tuple(sorted({*named})),
    )


def _named(example: dict[str, Any]) -> Iterator[int]:
    """The clients that did it; of a second copy also the one that sent the first."""
    if (process := example.get("process")) is not None:
        yield process
    if (first := example.get("first_copy")) is not None:
        yield first >> VALUE_BITS
