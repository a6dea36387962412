"""Topics with compaction: a record may go once a later one has the same key."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG
from analyzers.history.load import History


def compacted_topics(history: History) -> DataFrame:
    """The topics whose recorded settings allow compaction at any time. Columns: run, topic."""
    return history.operations.where(
        "f = 'topic' and get_json_object(value, \"$.config['cleanup.policy']\") like '%compact%'"
    ).select("run", "topic")


def without_compacted(rows: DataFrame, history: History) -> DataFrame:
    """The rows of topics in which every record stays until it is removed at the beginning of the log."""
    if not history.has_compaction:
        return rows
    return rows.join(F.broadcast(compacted_topics(history)), ["run", "topic"], "left_anti")


def newest_of_keys(history: History) -> DataFrame:
    """Per key of a log in a compacted topic: the highest offset that was polled or acknowledged, as `newest`.

    A tombstone has no value, but it has a key and an offset.
    """
    return (
        history.records.where(f"key is not null and offset is not null and (f = 'poll' or ({ACKED}))")
        .join(F.broadcast(compacted_topics(history)), ["run", "topic"], "left_semi")
        .groupBy(*LOG, "key")
        .agg(F.max("offset").alias("newest"))
    )
