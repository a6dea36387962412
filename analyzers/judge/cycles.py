"""Finds cycles of transactions that depend on each other: the only check that is not a condition on rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.catalogue.registry import ANOMALIES
from analyzers.causes.evidence import Extent
from analyzers.facts.transactions import cycle_candidates
from analyzers.history.load import History
from analyzers.judge.cycle_search import LEVELS, Cycle, search
from analyzers.judge.find import CheckResult

MAX_EDGES = 4_000_000
"""Dependencies of one run that are searched, on the driver."""

JUDGED = ("wr",)
"""Kinds of dependencies whose cycles break a promise. Kafka does not promise the order of writes (ww)."""

SEARCHES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (JUDGED, tuple(name for name, kinds in LEVELS.items() if "ww" not in kinds)),
    (("wr", "ww"), tuple(name for name, kinds in LEVELS.items() if "ww" in kinds)),
)
"""Kinds of dependencies to collect, and the anomalies to search them for. Order in real time needs no rows."""

TRANSACTIONS = "txn"
"""The kind of operation (f) without which a run has no cycles."""

CYCLES = tuple(name for _, names in SEARCHES for name in names)


@dataclass(frozen=True, kw_only=True)
class Unsearched:
    """A part of the analysis that was not done."""

    run: str | None
    """None for all runs."""
    sentence: str
    judged: bool
    """Whether a promise remained unchecked. Otherwise the sentence is a note."""
    needs: str | None = None
    """The kind of operation (f) without which a run has no such part."""

    def concerns(self, run: str, kinds: Collection[str]) -> bool:
        """Whether it is about this run, which has these kinds of operations."""
        return self.run in (run, None) and (self.needs is None or self.needs in kinds)


def find_cycles(
    history: History, *, examples: int, max_edges: int = MAX_EDGES
) -> tuple[list[CheckResult], list[Unsearched]]:
    """The cycles of every run with transactions, and the runs with too many dependencies to be searched."""
    found: list[CheckResult] = []
    unsearched: list[Unsearched] = []
    for kinds, anomalies in SEARCHES:
        for run, table in _collect(cycle_candidates(history, kinds), max_edges).items():
            if len(table) > max_edges:
                sentence = _too_many(anomalies, max_edges)
                unsearched.append(
                    Unsearched(run=run, judged=kinds == JUDGED, sentence=sentence, needs=TRANSACTIONS)
                )
            else:
                found += cycle_results(run, table, anomalies, examples=examples)
    return found, unsearched


def find_cycle(history: History, anomaly: str, number: int, *, max_edges: int = MAX_EDGES) -> tuple[int, ...]:
    """The transactions of the cycle that represents finding `number`, from 1, in a history of one run.

    Raises IndexError if there is no such finding, or if there are too many dependencies to be searched.
    """
    for kinds, anomalies in SEARCHES:
        if anomaly in anomalies:
            for table in _collect(cycle_candidates(history, kinds), max_edges).values():
                if len(table) <= max_edges:
                    return search(table, anomalies)[anomaly][number - 1].cycle
    raise IndexError(f"{anomaly}/{number}: no such cycle")


def _too_many(anomalies: Sequence[str], max_edges: int) -> str:
    return (
        f"Cycles of transactions ({', '.join(anomalies)}) were not searched: more than {max_edges:,} dependencies "
        f"contradict the order in which their transactions ended, or lie between such dependencies."
    )


def _collect(dependencies: DataFrame, max_edges: int) -> dict[str, pa.Table]:
    """Dependencies by run, at most `max_edges` + 1 of each: one more shows that there are too many."""
    first = Window.partitionBy("run").orderBy("source", "target", "kind")
    limited = dependencies.withColumn("n", F.row_number().over(first)).where(f"n <= {max_edges} + 1")
    return by_run(limited.toArrow())


def by_run(dependencies: pa.Table) -> dict[str, pa.Table]:
    return {
        run: dependencies.filter(pc.equal(dependencies["run"], run))
        for run in sorted(dependencies["run"].unique().to_pylist())
    }


def cycle_results(
    run: str, table: pa.Table, anomalies: Sequence[str], *, examples: int
) -> Iterator[CheckResult]:
    """table: dependencies, as `search` takes them."""
    for anomaly, cycles in search(table, anomalies).items():
        if cycles:
            shown = tuple(cycle.example for cycle in cycles[:examples])
            extents = _extents(anomaly, cycles)
            yield CheckResult(run=run, anomaly=anomaly, count=len(cycles), examples=shown, extents=extents)


def _extents(anomaly: str, cycles: Sequence[Cycle]) -> tuple[Extent, ...]:
    """By which the cycles are listed under a cause: without a log, because a cycle may lie in several.

    Notes have none: correct clusters have such cycles, too, and evidence of causes takes further jobs of Spark.
    """
    if ANOMALIES[anomaly].severity == "note":
        return ()
    first, last = cycles[0].began, cycles[-1].began
    return (Extent(anomaly=anomaly, topic=None, partition=None, count=len(cycles), first=first, last=last),)
