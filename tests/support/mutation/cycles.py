"""Cycles of transactions: a search over rows finds them instead of a check. Mutants alter these rows, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from analyzers.judge.cycle_search import search
from analyzers.judge.cycles import SEARCHES, by_run

MODULE = "dependencies"
"""The module of facts with the function `cycle_candidates`."""

CANDIDATES: Mapping[str, tuple[str, ...]] = {
    f"cycles of {' and '.join(kinds)}": kinds for kinds, _ in SEARCHES
}
"""The rows that are searched, by a name beside those of the facts: kinds of dependencies."""

_ANOMALIES: Mapping[str, Sequence[str]] = dict(zip(CANDIDATES, (names for _, names in SEARCHES), strict=True))


def found_cycles(name: str, rows: DataFrame) -> set[str]:
    """Every cycle with its run and its evidence."""
    tables = by_run(rows.toArrow())
    return {repr((run, search(table, _ANOMALIES[name]))) for run, table in tables.items()}
