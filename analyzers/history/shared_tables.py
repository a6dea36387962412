"""Small tables that several facts read, computed once for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark.sql import DataFrame


class SharedTables:
    """The results of statements with few rows, such as one for each log, over all runs of a history.

    A fact that contains the plan of such a table plans it again, which for most histories takes longer than to
    compute it. Here it is computed once and passed to Spark as rows. Safe to use from several threads.

    sql  Computes a statement over the history, see `History.sql`.
    """

    def __init__(self, sql: Callable[[str], DataFrame]) -> None:
        self._sql = sql
        self._tables: dict[str, DataFrame] = {}
        self._lock = threading.Lock()

    def table(self, statement: str) -> DataFrame:
        """The rows of the statement."""
        with self._lock:
            if statement not in self._tables:
                rows = self._sql(statement)
                self._tables[statement] = rows.sparkSession.createDataFrame(rows.toArrow(), rows.schema)
            return self._tables[statement]
