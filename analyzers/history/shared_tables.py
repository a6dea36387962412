"""Tables that several facts read, computed once for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from pyspark.sql import DataFrame

from analyzers.spark.session import is_embedded

ONE_PARTITION = 100_000
"""Rows up to which a table is one partition, so that what is computed from it alone is not shuffled."""


class Whole(Protocol):
    """A history."""

    def sql(self, statement: str) -> DataFrame: ...


H = TypeVar("H", bound=Whole)


class SharedTables(Generic[H]):
    """Results over all runs of a history. Safe to use from several threads."""

    whole: H
    """Of which facts may have a part only. `History.sharing` sets it."""

    def __init__(self) -> None:
        self._tables: dict[str, DataFrame] = {}
        self._lock = threading.RLock()  # one table may be made of another

    def table(self, statement: str) -> DataFrame:
        """The rows of a statement with few of them, such as one for each log.

        A fact that contains the plan of such a table plans it again, which for most histories takes longer than to
        compute it. Here it is computed once and passed to Spark as rows.
        """
        with self._lock:
            if statement not in self._tables:
                rows = self.whole.sql(statement)
                self._tables[statement] = rows.sparkSession.createDataFrame(rows.toArrow(), rows.schema)
            return self._tables[statement]

    def rows(self, name: str, make: Callable[[H], DataFrame]) -> DataFrame:
        """The rows that `make` computes, of any number: Spark keeps them in memory, or on disk where that is short,
        until nobody refers to them.

        Not `DataFrame.persist`: Spark does not find such rows when an SQL statement names them (4.3). On a cluster,
        rows that a checkpoint keeps are lost with their machine, so that each fact computes them there.
        """
        with self._lock:
            if name not in self._tables:
                rows = make(self.whole)
                if not is_embedded(rows.sparkSession):
                    return rows
                kept = rows.localCheckpoint(eager=True)
                if kept.count() <= ONE_PARTITION:
                    kept = kept.coalesce(1)
                # Named anew: a checkpoint has the columns of the records, with which it could not be joined.
                self._tables[name] = kept.toDF(*rows.columns)
            return self._tables[name]
