"""Per record that a group copies: the copies that readers get, and whether the group has committed past it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import COPIES, LOG, POLLED, fact
from analyzers.facts.members import GROUP_LOG, assignments, commits, members
from analyzers.facts.removals import final_reads, removed_beginnings
from analyzers.facts.transactions import coverage
from analyzers.history.load import History
from workloads.history.schema import VALUE_BITS

RECORD = ["run", "group", "value"]


@fact(needs=COPIES)
def copies(history: History) -> DataFrame:
    """One row per group with a copier and record of the topics that it reads, unless it has exactly one copy.

    Columns: value; of the record, null if its log is not known: offset, last_offset (the lowest and the highest at
    which it was polled), kept (whether the final read found it, and readers of committed records get it), moved
    (whether the group's position was reset); of the group: start (the lowest offset at which it began to read),
    passed (its first ok commit above the offset: time, process, op, position); of its copies: copied (how many
    readers get, in the topic with the most), first, second (of these: time, ns, and value), possible (whether there
    may be one).
    """
    committed = (
        commits(history)
        .where("type = 'ok' and completed is not null")
        .groupBy(*GROUP_LOG)
        .agg(F.expr("collect_list(struct(completed as time, process, op, offset as position))").alias("done"))
    )
    later = "array_min(filter(done, d -> d.position > offset))"
    return (
        _sources(history)
        .join(_copied(history), RECORD, "full")
        .where("coalesce(copied, 0) <> 1")
        .join(F.broadcast(committed), GROUP_LOG, "left")
        .withColumn("passed", F.expr(later))
        .drop("done")
    )


def _sources(history: History) -> DataFrame:
    """The records of the logs of which a group with copiers committed positions."""
    copiers = _copiers(history).select("run", "group").distinct()
    read = (
        commits(history)
        .join(F.broadcast(copiers), ["run", "group"], "left_semi")
        .groupBy(*GROUP_LOG)
        .agg(F.expr("bool_or(reset and type <> 'fail')").alias("moved"))
    )
    starts = assignments(history).groupBy(*GROUP_LOG).agg(F.min("start_offset").alias("start"))
    finals = final_reads(history).select(*LOG, "final_process", "final_invoked")
    found = "coalesce(final and process = final_process and invoked >= final_invoked, false)"
    visible = "if(f = 'poll', coalesce(committed, false), transaction is null or type = 'ok')"
    return (
        history.records.where(f"f = 'send' or ({POLLED})")
        .join(F.broadcast(read.select(*LOG).distinct()), LOG, "left_semi")
        .join(F.broadcast(finals), LOG, "left")
        .groupBy(*LOG, "value")
        .agg(
            F.expr("min(offset) filter (where f = 'poll')").alias("offset"),
            F.expr("max(offset) filter (where f = 'poll')").alias("last_offset"),
            F.expr(f"bool_or({found}) and bool_or({visible})").alias("kept"),
        )
        .join(F.broadcast(read), LOG)
        .join(F.broadcast(starts), GROUP_LOG, "left")
    )


def _copied(history: History) -> DataFrame:
    """Per group and record: its copies."""
    per_topic = (
        _made(history)
        .join(F.broadcast(_copiers(history)), ["run", "process"])
        .groupBy("run", "group", "source", "topic")
        .agg(
            F.expr("array_sort(collect_set(struct(time, value)) filter (where is_readable))").alias("got"),
            F.expr("bool_or(not is_unreadable)").alias("possible"),
        )
    )
    return (
        per_topic.groupBy("run", "group", F.col("source").alias("value"))
        .agg(
            F.expr("max(struct(size(got) as copied, got))").alias("most"),
            F.expr("bool_or(possible)").alias("possible"),
        )
        .selectExpr(
            *RECORD, "most.copied", "get(most.got, 0) as first", "get(most.got, 1) as second", "possible"
        )
    )


def _made(history: History) -> DataFrame:
    """Per copy: process, source, time (ns, when it was sent or, if that is unknown, polled), and

    - is_readable: it was acknowledged, or readers got it, in a transaction those of committed records,
    - is_unreadable: it is not readable, and it failed; or no poll found it, although the final read of its log, from
      which nothing was removed, was completed; or readers of committed records passed it. Of the copies that were
      polled, only those in a transaction are not readable.
    """
    sent = "f = 'send'"
    got = "coalesce(committed, false)"
    spans = coverage(history).select(*LOG, "spans")
    whole = (
        without_compacted(final_reads(history).select(*LOG), history)
        .join(removed_beginnings(history), LOG, "left_anti")
        .withColumn("whole", F.lit(True))
    )
    return (
        history.records.where(f"source is not null and ({sent} or ({POLLED}))")
        .groupBy(*LOG, "value")
        .agg(
            F.max("source").alias("source"),
            F.expr(f"max(type) filter (where {sent})").alias("kind"),
            F.expr(f"bool_and(transaction is null) filter (where {sent})").alias("is_plain"),
            F.expr("bool_or(f = 'poll')").alias("polled"),
            F.expr(f"bool_or({got})").alias("got"),
            F.expr("max(offset) filter (where f = 'poll')").alias("at"),
            F.expr(f"coalesce(min(invoked) filter (where {sent}), min(invoked))").alias("time"),
        )
        .join(F.broadcast(spans), LOG, "left")
        .join(F.broadcast(whole), LOG, "left")
        .withColumn("process", F.expr(f"cast(shiftright(value, {VALUE_BITS}) as int)"))
        .withColumn("is_readable", F.expr("coalesce(kind = 'ok' or got or (is_plain and polled), false)"))
        .withColumn("is_passed", F.expr("coalesce(exists(spans, s -> at between s.low and s.high), false)"))
        .withColumn(
            "is_unreadable",
            F.expr(
                "not is_readable and "
                "(coalesce(kind = 'fail', false) or (not polled and coalesce(whole, false)) or is_passed)"
            ),
        )
        .drop("spans", "whole")
    )


def _copiers(history: History) -> DataFrame:
    """The members of groups that sent copies. Columns: run, process, group."""
    senders = history.records.where("f = 'send' and source is not null").select("run", "process").distinct()
    return members(history).join(senders, ["run", "process"])
