"""Topics with compaction: a record may go once a later one has the same key, and a deleted key stays deleted."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import ABORTED, ACKED, COMPACTED_TOPICS, LOG, MAYBE_ABORTED, fact, shared
from analyzers.facts.removals import CHANGES, EVERYTHING, is_reset, policy, removals, removed_beginnings
from analyzers.history.load import History

LAG, RETENTION = "min.compaction.lag.ms", "delete.retention.ms"
NAME_OF_LOG = "substring_index(logs.topic, '@', 1)"

_POLICIES = f"""
    with {CHANGES}, statements as (
        select run, topic, null as name, invoked as since, true as is_creation,
            from_json(get_json_object(value, '$.config'), 'map<string, string>') as config
        from {{operations}} where f = 'topic'
        union all
        select run, null, name, since, false, config from changes
    ), ends as (
        select run, topic, max(completed) as read_at
        from {{operations}} where f = 'final-read' and type = 'ok' group by run, topic
    ), logs as (
        select run, topic, max(until) as until from {{removals}} group by run, topic
    ), stated as (
        select /*+ BROADCAST(ends) */ logs.run, logs.topic, until, since, is_creation,
            coalesce({policy("config")} like '%compact%', false) as compacts,
            if({is_reset("config", LAG)}, 0, try_cast(config['{LAG}'] as bigint)) as lag,
            if({is_reset("config", RETENTION)}, 0, try_cast(config['{RETENTION}'] as bigint)) as retention
        from logs left join ends using (run, topic) join statements on statements.run = logs.run
            and (statements.topic = logs.topic or statements.topic is null
                and coalesce(name, {NAME_OF_LOG}) = {NAME_OF_LOG})
        where is_creation or coalesce(since <= read_at, true)
    ), together as (
        select run, topic, max(until) as until, min(since) filter (where is_creation) as began,
            bool_or(compacts) as compacts, min(lag) as lag,
            bool_or(compacts and is_creation and lag is null) as lag_is_default,
            bool_or(is_creation and lag is not null) as lag_is_known,
            bool_or(compacts and lag is null) as lag_is_left_out,
            min(if(is_creation, coalesce(retention, 0), retention)) as retention
        from stated group by run, topic
    )
    select run, topic,
        compacts and (began is null or lag is null or lag_is_default or lag_is_left_out and not lag_is_known
            or lag * 1000000 < until - began) as compacts,
        began is null or retention * 1000000 < until - began as forgets
    from together
"""
"""Per topic with a record of which settings are recorded: whether compaction may have removed records, and whether
tombstones may be gone before the end of the run."""


def compacted_topics(history: History) -> DataFrame:
    """The topics whose recorded settings allow compaction at any time, of records younger than the run. Columns: run,
    topic."""
    return _policies(history).where("compacts").select("run", "topic")


@shared
def _policies(history: History) -> DataFrame:
    return history.sql(_POLICIES, removals=removals(history))


def without_compacted(rows: DataFrame, history: History) -> DataFrame:
    """The rows of topics in which every record stays until it is removed at the beginning of the log."""
    if not history.has(COMPACTED_TOPICS):
        return rows
    return rows.join(F.broadcast(compacted_topics(history)), ["run", "topic"], "left_anti")


def keyed_records(history: History) -> DataFrame:
    """The records with a key in compacted topics: sends of any completion type, and polls. A poll without a key has
    that of the send. Column polled_offset: the highest offset at which the value was polled; null for none.

    Without those of aborted transactions: the cleaner leaves them out of its map of the keys, and removes them.
    """
    same = Window.partitionBy(*LOG, "value")
    return (
        history.records.join(F.broadcast(compacted_topics(history)), ["run", "topic"], "left_semi")
        .withColumn("key_of_value", F.max("key").over(same))
        .withColumn("polled_offset", F.max(F.expr("if(f = 'poll', offset, null)")).over(same))
        .withColumn("is_aborted", F.max(F.expr(ABORTED)).over(same))
        .withColumn("key", F.expr("coalesce(key, if(value is null, null, key_of_value))"))
        .where("key is not null and not (is_aborted and value is not null)")
        .drop("key_of_value", "is_aborted")
    )


def newest_of_keys(history: History) -> DataFrame:
    """Per key of a log in a compacted topic: the offset below which its records may be gone, as `newest`.

    That is the highest offset that was polled or acknowledged. In a topic where tombstones may be gone before the end
    of the run, such a tombstone is included, and one that was neither acknowledged with an offset nor polled may have
    been behind everything.
    """
    place = f"coalesce(greatest(offset, polled_offset) + 1, {EVERYTHING})"
    return (
        keyed_records(history)
        .join(F.broadcast(_forgetful_topics(history)), ["run", "topic"], "left")
        .withColumn("is_gone", F.expr("tombstone and forgets and (f = 'poll' or type <> 'fail')"))
        .withColumn("is_placed", F.expr(f"offset is not null and (f = 'poll' or ({ACKED}))"))
        .groupBy(*LOG, "key")
        .agg(
            F.expr(
                f"max(if(is_gone and f = 'send', {place}, "
                "if(is_placed, offset + int(coalesce(is_gone, false)), null))) as newest"
            )
        )
    )


def _forgetful_topics(history: History) -> DataFrame:
    """The topics in which a tombstone may be gone before the end of the run, because it is longer than
    `delete.retention.ms`, or because the recorded settings lack it. Columns: run, topic, forgets."""
    return _policies(history).where("forgets").select("run", "topic", "forgets")


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
