"""Tells apart what a member of a group read of a partition before it lost it, and after it got it back.

With a partition that it kept in a later generation, a member continues where it was. With one that it was assigned
anew, it starts where its group had committed. Histories of other programs need not count assignments, so that only
the events of members show this.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.members import events
from analyzers.facts.poll_spans import poll_spans
from analyzers.history.load import History


def readings(history: History) -> DataFrame:
    """The rows of `poll_spans` with ``reading``: equal for polls of a process and log that are one reading."""
    return with_reading(poll_spans(history), history, at="known", name="reading")


def with_reading(polls: DataFrame, history: History, *, at: str, name: str) -> DataFrame:
    """Polls with the column `name`, which is equal for those of a process and log between which nothing says that the
    process had to begin anew.

    It begins anew with an event about the partition (assigned, revoked, lost) or about the member as a whole (left,
    fenced): the first poll of the generation of an assignment, or the first one that completed when the event had
    begun. Where no assignment of the partition is recorded, it begins anew with each generation.

    polls  have the columns of `LOG`, process, generation and `at` (ns, when the poll completed).
    """
    key = [*LOG, "process"]
    known = events(history).selectExpr(
        "run", "topic", "partition", "process", "event", "generation", "invoked as moment"
    )
    of_members = known.where("event in ('left', 'fenced')").drop("topic", "partition")
    changes = known.unionByName(of_members.join(polls.select(*key).distinct(), ["run", "process"]))
    line = Window.partitionBy(*key)
    return (
        polls.withColumn("moment", F.col(at))
        .unionByName(changes, allowMissingColumns=True)
        # Of an event and a poll in the same nanosecond, the event comes first: the frame has all rows of a moment.
        .withColumn("before", F.count("event").over(line.orderBy("moment")))
        .withColumn("since", F.expr("count_if(event = 'assigned')").over(line.orderBy("generation")))
        .withColumn("is_known", F.expr("bool_or(event = 'assigned')").over(line))
        .where("event is null")
        .withColumn(name, F.expr("struct(before, since, if(is_known, null, generation) as generation)"))
        .select(*polls.columns, name)
    )
