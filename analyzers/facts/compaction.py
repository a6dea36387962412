"""Topics with compaction: a record may go once a later one has the same key."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG
from analyzers.facts.removals import EVERYTHING, removals
from analyzers.history.load import History

RETENTION = "try_cast(get_json_object(value, \"$.config['delete.retention.ms']\") as bigint)"


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


def keyed_records(history: History) -> DataFrame:
    """The records with a key in compacted topics: sends of any completion type, and polls."""
    return history.records.where("key is not null").join(
        F.broadcast(compacted_topics(history)), ["run", "topic"], "left_semi"
    )


def newest_of_keys(history: History) -> DataFrame:
    """Per key of a log in a compacted topic: the offset below which its records may be gone, as `newest`.

    That is the highest offset that was polled or acknowledged. In a topic where tombstones may be gone before the end
    of the run, such a tombstone is included, and a tombstone at an unknown offset may have been behind everything.
    """
    return (
        keyed_records(history)
        .join(F.broadcast(_forgetful_topics(history)), ["run", "topic"], "left")
        .withColumn("is_gone", F.expr("tombstone and forgets and (f = 'poll' or type <> 'fail')"))
        .withColumn("is_placed", F.expr(f"offset is not null and (f = 'poll' or ({ACKED}))"))
        .groupBy(*LOG, "key")
        .agg(
            F.expr(
                f"max(if(is_gone, coalesce(offset + 1, {EVERYTHING}), if(is_placed, offset, null))) as newest"
            )
        )
    )


def _forgetful_topics(history: History) -> DataFrame:
    """The topics in which a tombstone may be gone before the end of the run, because it is longer than
    `delete.retention.ms`, or because the recorded settings lack it. Columns: run, topic, forgets."""
    lasted = removals(history).groupBy("run", "topic").agg(F.max("until").alias("until"))
    return (
        history.operations.where("f = 'topic'")
        .groupBy("run", "topic")
        .agg(F.min("invoked").alias("since"), F.expr(f"min(coalesce({RETENTION}, 0)) as retention"))
        .join(F.broadcast(lasted), ["run", "topic"])
        .where("retention * 1000000 < until - since")
        .selectExpr("run", "topic", "true as forgets")
    )
