"""Per record polled or acknowledged: the offset before it, in what the process did in order."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import ACKED, LOG, TIME
from analyzers.facts.fact import fact
from analyzers.facts.readings import with_reading
from analyzers.history.load import History

OURS = [*LOG, "process", "f", "assignment"]
DONE = f"(f = 'poll' or ({ACKED}))"

COLUMNS = [
    *LOG, "process", "f", "op", "offset", "previous", "coalesce(within, false) as within", "value",
    "error", "committed", f"{TIME} as time", "cast(null as bigint) as key",
]  # fmt: skip


@fact()
def steps(history: History) -> DataFrame:
    """One row per record polled, of any completion type and with any payload, and per acknowledged send.

    Columns: process, f, op, offset, previous and within (see the schema), value, error, committed, time
    (ns), key. Further rows, all without error, are steps that `previous` does not cover: those of `log_steps`
    between generations, and with `key` those from one record of a key to the next that went back although the step
    from the record before it did not.
    """
    return log_steps(history).unionByName(_of_keys(history))


def log_steps(history: History) -> DataFrame:
    """As `steps`, without those of keys, but with the steps of group members into another generation."""
    done = history.records.where(DONE).selectExpr(*COLUMNS)
    return done.unionByName(_into_generations(history)) if history.has_generations else done


def _of_keys(history: History) -> DataFrame:
    """Steps from the last record of the same key, for records that did not go back behind the record before them."""
    keyed = history.records.where(f"key is not null and offset is not null and {DONE}")
    line = Window.partitionBy(*OURS, "generation", "key").orderBy("index")
    return (
        keyed.withColumn("last", F.lag("offset").over(line))
        .withColumn("operation", F.expr("if(f = 'poll', op, transaction)"))
        .withColumn("same", F.col("operation") == F.lag("operation").over(line))
        .where("offset <= last and offset > previous")
        .selectExpr(
            *LOG, "process", "f", "op", "offset", "last as previous", "coalesce(same, false) as within", "value",
            "cast(null as string) as error", "committed", f"{TIME} as time", "key",
        )
    )  # fmt: skip


def _into_generations(history: History) -> DataFrame:
    """From the last record of a group's generation to the first of the next one that the process polled.

    `previous` does not reach across generations. With a partition that it kept, a member continues where it was.
    """
    polled = history.records.where("f = 'poll' and generation is not null and offset is not null")
    spans = (
        polled.withColumn("time", F.expr(TIME))
        .groupBy(*OURS, "generation")
        .agg(
            F.max_by("offset", "index").alias("last"),
            F.max_by("time", "index").alias("until"),
            *(F.min_by(name, "index").alias(name) for name in ("op", "offset", "value", "committed", "time")),
        )
    )
    begun = with_reading(spans, history, at="time", name="reading")
    both = with_reading(begun, history, at="until", name="last_reading")
    line = Window.partitionBy(*OURS).orderBy("generation")
    return (
        both.withColumn("previous", F.lag("last").over(line))
        .withColumn("before", F.lag("last_reading").over(line))
        .where("previous is not null and before = reading")
        .selectExpr(
            *LOG, "process", "f", "op", "offset", "previous", "false as within", "value",
            "cast(null as string) as error", "committed", "time", "cast(null as bigint) as key",
        )
    )  # fmt: skip
