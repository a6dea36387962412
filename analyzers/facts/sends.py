"""Per acknowledged send: the acknowledgement before it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.columns import ACKED, LOG
from analyzers.load import History


def sends(history: History) -> DataFrame:
    """One row per acknowledged send. Columns: process, op, offset, previous (of the process's last
    acknowledged send to the log), value, time (ns)."""
    return history.records.where(ACKED).selectExpr(
        *LOG, "process", "op", "offset", "previous", "value", "completed as time"
    )
