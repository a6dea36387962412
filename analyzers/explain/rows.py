"""The first rows of a query result, and how many there are: what is collected does not grow with the history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

MAX_ROWS = 20
"""Rows of one query that an explanation shows."""


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    rows: tuple[Row, ...] = ()
    total: int = 0
    """Rows of the whole result."""

    def notes(self, what: str, which: str = "first") -> Iterator[str]:
        """That only some rows of what it holds are shown; nothing where all are."""
        if self.total > len(self.rows):
            yield f"{what}: the {which} {len(self.rows)} of {self.total:,} are shown"


def first_rows(rows: DataFrame, order: Sequence[str], *, limit: int = MAX_ROWS) -> Excerpt:
    """The first rows in this order (SQL), nulls last. The order must be total, so that the result is
    deterministic."""
    first = rows.orderBy(*(F.expr(each).asc_nulls_last() for each in order)).limit(limit + 1).collect()
    # Counted apart, and only where needed: the first rows alone are a cheap plan.
    total = rows.count() if len(first) > limit else len(first)
    return Excerpt(rows=tuple(first[:limit]), total=total)


def nearest_rows(rows: DataFrame, column: str, began: int, ended: int, order: Sequence[str]) -> Excerpt:
    """The rows whose time `column` (ns, SQL) is nearest to a span (ns), in order of time."""
    distance = f"greatest({began}L - ({column}), ({column}) - {ended}L, 0L)"
    excerpt = first_rows(rows, [distance, column, *order])
    by_time = sorted(excerpt.rows, key=lambda row: tuple(row[name] for name in order))
    return Excerpt(rows=tuple(by_time), total=excerpt.total)


@dataclass(frozen=True, kw_only=True)
class Log:
    """A topic-partition."""

    topic: str
    partition: int

    def rows(self, table: DataFrame) -> DataFrame:
        return table.where((F.col("topic") == self.topic) & (F.col("partition") == self.partition))

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
