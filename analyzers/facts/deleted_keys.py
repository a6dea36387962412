"""Per key that stays deleted, and per reader that got beyond its tombstone: what the reader had of the key."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, MAYBE_ABORTED
from analyzers.facts.compaction import compacted_topics, keyed_records
from analyzers.facts.fact import COMPACTED_TOPICS, fact
from analyzers.facts.removals import removed_beginnings
from analyzers.history.load import History

PASS = [*LOG, "process", "assignment", "generation"]
"""Within it, a reader goes on from one record to the next."""


@fact(needs=COMPACTED_TOPICS)
def deleted_keys(history: History) -> DataFrame:
    """One row per key, and per pass of a reader that polled a record of the key and a record behind its tombstone.

    Only keys of which the last record in the log is certainly a tombstone: one that was acknowledged, or that a
    reader got; of a transaction with unknown outcome, a reader with isolation.level=read_committed. Records of
    aborted transactions do not count. A key does not count if a send of it with unknown outcome or offset was never
    polled, because its record may come later. A reader with isolation.level=read_committed has to get a tombstone
    that was acknowledged or that another such reader got. Tombstones that may have been removed from the beginning of
    the log are left out.

    Columns: process, key, deleted (the offset of the tombstone), passed (the highest offset of the pass), op, offset,
    value, tombstone, time (ns): of the last record of the key that the pass polled.
    """
    keyed = keyed_records(history)
    got = keyed.where("f = 'poll' and offset is not null")
    last = got.groupBy(*PASS, "key").agg(
        F.expr("max(struct(offset, op, value, tombstone, completed as time)) as last")
    )
    tops = (
        history.records.where("f = 'poll'")
        .join(F.broadcast(compacted_topics(history)), ["run", "topic"], "left_semi")
        .groupBy(*PASS)
        .agg(F.max("offset").alias("passed"), F.expr("bool_or(coalesce(committed, false)) as isolated"))
    )
    here = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in PASS]
    of = tops.withColumnsRenamed({name: f"of_{name}" for name in PASS})
    return (
        last.join(_deletions(history), [*LOG, "key"])
        .join(of, here)
        .join(F.broadcast(removed_beginnings(history)), LOG, "left")
        .where("deleted < passed and deleted >= coalesce(removed_to, 0) and (everyone or not isolated)")
        .select(*LOG, "process", "key", "deleted", "passed", "last.*")
    )


def _deletions(history: History) -> DataFrame:
    """Keys of which the last record is a tombstone. Columns: those of `LOG`, key, deleted (its offset), everyone
    (whether readers of committed records have to get it, too)."""
    keyed = keyed_records(history)
    uncertain = (
        keyed.where(f"f = 'send' and {MAYBE_ABORTED}")
        .selectExpr(*LOG, "value", "true as is_uncertain")
        .distinct()
    )
    placed = keyed.where(f"offset is not null and (f = 'poll' or ({ACKED}))")
    newest = (
        placed.join(uncertain, [*LOG, "value"], "left")
        .groupBy(*LOG, "key", "offset")
        .agg(
            F.expr("bool_or(tombstone) as tombstone"),
            F.expr("bool_or(f = 'send' or committed) as everyone"),
            F.expr("bool_or(f = 'send' or committed or is_uncertain is null) as is_certain"),
        )
        .groupBy(*LOG, "key")
        .agg(F.expr("max(struct(offset, tombstone, everyone, is_certain)) as newest"))
        .where("newest.tombstone and newest.is_certain")
        .selectExpr(*LOG, "key", "newest.offset as deleted", "coalesce(newest.everyone, false) as everyone")
    )
    unplaced = keyed.where(f"f = 'send' and type <> 'fail' and (offset is null or not ({ACKED}))")
    polled = keyed.where("f = 'poll'").select(*LOG, "key", "value")
    unknown = unplaced.join(polled, [*LOG, "key", "value"], "left_anti").select(*LOG, "key").distinct()
    return newest.join(unknown, [*LOG, "key"], "left_anti")
