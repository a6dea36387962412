"""Checks over facts: every anomaly counted, the first few shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import attrgetter
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.checks import Check
from analyzers.facts import FACTS, Fact
from analyzers.history.load import History
from analyzers.judge.prefilter import SCREENED, Suspects, screen


@dataclass(frozen=True, kw_only=True)
class Found:
    run: str
    anomaly: str
    count: int
    examples: tuple[Mapping[str, Any], ...]
    """In order of time (ns), topic, partition and evidence."""


@dataclass(frozen=True, kw_only=True)
class Crashed:
    anomaly: str
    error: str


def find(
    history: History,
    checks: Sequence[Check],
    *,
    examples: int,
    facts: Mapping[str, Fact] = FACTS,
    strict: bool = False,
    look: Callable[[History], Suspects] = screen,
) -> tuple[list[Found], list[Crashed]]:
    """What the checks find, in one Spark job after a first look. A check that crashes takes no other with it; with
    `strict` it is raised instead."""
    try:
        return list(_run(history, checks, examples, facts, look)), []
    except Exception:  # one of them; which one, and the findings of the others, tells the loop
        if strict:
            raise
        found: list[Found] = []
        crashed: list[Crashed] = []
        for check in checks:
            try:
                found += _run(history, [check], examples, facts, look)
            except Exception as error:
                first_line = str(error).strip().partition("\n")[0]
                crashed.append(Crashed(anomaly=check.anomaly, error=f"{type(error).__name__}: {first_line}"))
        return found, crashed


def _run(
    history: History,
    checks: Sequence[Check],
    examples: int,
    facts: Mapping[str, Fact],
    look: Callable[[History], Suspects],
) -> Iterator[Found]:
    by_fact = groupby(sorted(checks, key=attrgetter("over")), key=attrgetter("over"))
    wanted = [(name, list(group)) for name, group in by_fact]
    suspects = look(history) if any(name in SCREENED for name, _ in wanted) else None
    narrowed = {name: suspects.within(history, name) if suspects else history for name, _ in wanted}
    hits = [_hits(facts[name](part), group) for name, group in wanted if (part := narrowed[name]) is not None]
    if not hits:
        return
    kind = Window.partitionBy("run", "anomaly")
    first = kind.orderBy("time", "topic", "partition", "evidence")
    rows = (
        reduce(DataFrame.unionByName, hits)
        .withColumn("rank", F.row_number().over(first))
        .withColumn("total", F.count("*").over(kind))
        .where(F.col("rank") <= max(1, examples))
        .collect()
    )
    rows.sort(key=lambda row: (row.run, row.anomaly, row.rank))  # few; Spark would run the job twice to sort
    names = {check.anomaly: tuple(check.shows) for check in checks}
    for (run, anomaly, total), group in groupby(rows, key=lambda row: (row.run, row.anomaly, row.total)):
        shown = [
            {"topic": row.topic, "partition": row.partition, "time": row.time}
            | dict(zip(names[anomaly], row.evidence, strict=True))
            for row in group
        ]
        yield Found(run=run, anomaly=anomaly, count=total, examples=tuple(shown[:examples]))


def _hits(fact: DataFrame, checks: Sequence[Check]) -> DataFrame:
    """One row per broken row and check: run, anomaly, topic, partition, time, evidence."""
    broken = " or ".join(f"({check.where})" for check in checks)
    hits = ", ".join(f"if({check.where}, {_hit(check)}, null)" for check in checks)
    return fact.where(broken).selectExpr(
        "run", "topic", "partition", f"inline(filter(array({hits}), hit -> hit is not null))"
    )


def _hit(check: Check) -> str:
    evidence = ", ".join(f"cast({sql} as bigint)" for sql in check.shows.values())
    return (
        f"named_struct('anomaly', '{check.anomaly}', 'time', cast({check.time} as bigint), "
        f"'evidence', array({evidence}))"
    )
