"""Small tables that several facts read, computed once for all of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from analyzers.history.load import History


class SharedTables:
    """The results of statements with few rows, such as one for each log, over all runs of a history.

    A fact that contains the plan of such a table plans it again, which for most histories takes longer than to
    compute it. Here it is computed once and passed to Spark as rows. Safe to use from several threads.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._tables: dict[str, DataFrame] = {}
        self._lock = threading.Lock()

    def table(self, statement: str) -> DataFrame:
        """The rows of the statement, see `History.sql`."""
        with self._lock:
            if statement not in self._tables:
                rows = self._history.sql(statement)
                self._tables[statement] = rows.sparkSession.createDataFrame(rows.toArrow(), rows.schema)
            return self._tables[statement]
