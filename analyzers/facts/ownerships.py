"""Per assignment of a partition: whether another member of its group still owned it."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import fact
from analyzers.facts.members import GROUP_LOG, UNBOUNDED, assignments, commits
from analyzers.history.load import History

AT_ONCE = "ending_event in ('revoked', 'left', 'assigned')"
"""Events that a member learns of when they happen. It learns only later that it lost a partition or was fenced."""

# Of events in the same nanosecond, the commit comes first: the assignment was not completed before it.
COMMITS, ASSIGNS = 0, 1


@fact(needs="member")
def ownerships(history: History) -> DataFrame:
    """One row per assignment with a generation.

    Columns: group, process, op, generation, began, until (ns): it was certainly in force between them; held
    (ns): until when an assignment that began no later was certainly in force. Of an assignment of another
    generation, only an accepted commit shows that. surely_held (ns): the same of assignments of this generation whose
    end is known, by members without group.instance.id.
    """
    assigned = assignments(history).where("generation is not null").withColumnRenamed("completed", "began")
    key = [*GROUP_LOG, "process"]
    # A commit that was accepted during an assignment proves that it was still in force.
    proofs = (
        assigned.select(*key, "generation", "began", "op", "ending")
        .join(_accepted(history), key)
        .where("proof >= began and accepted <= coalesce(ending, accepted)")
        .groupBy(*key, "op")
        .agg(
            F.expr("max(proof) filter (where committed_in = generation)").alias("proof"),
            F.expr("max(proof) filter (where committed_in >= newest)").alias("lasting"),
        )
    )
    order = ["began", "until", "op"]
    same = Window.partitionBy(*GROUP_LOG, "generation")
    anyone = Window.partitionBy(*GROUP_LOG)
    # A later process with the same group.instance.id takes over the assignments, and the generation goes on. The
    # earlier one learns of it only from a refusal, so that its next event, too, comes too late.
    instance = Window.partitionBy(*GROUP_LOG, "generation", "instance").orderBy("began", "op")
    return (
        assigned.join(proofs, [*key, "op"], "left")
        .withColumn("next", F.when(F.col("instance").isNotNull(), F.lead("process").over(instance)))
        .withColumn(
            "until",
            F.expr(f"if({AT_ONCE} and coalesce(next = process, true), ending, coalesce(proof, began))"),
        )
        .withColumn("ended_at", F.expr(f"if({AT_ONCE} and instance is null, ending, null)"))
        .withColumn("surely_held", F.max("ended_at").over(same.orderBy(*order).rowsBetween(UNBOUNDED, -1)))
        .withColumn("held", F.max("until").over(same.orderBy(*order).rowsBetween(UNBOUNDED, -1)))
        .withColumn("other", F.max("lasting").over(anyone.orderBy(*order).rowsBetween(UNBOUNDED, -1)))
        .withColumn("held", F.greatest("held", "other"))
        .select(*GROUP_LOG, "process", "op", "generation", "began", "until", "held", "surely_held")
    )


def _accepted(history: History) -> DataFrame:
    """The ok commits: GROUP_LOG, process, committed_in (its generation), proof, accepted (ns: when it began and was
    over), newest: the newest generation in which the log had been assigned before; null for none."""
    made = commits(history).where("type = 'ok'").selectExpr(
        *GROUP_LOG, "process", "generation as committed_in", "invoked as proof", f"{COMMITS} as kind",
        "completed as accepted",
    )  # fmt: skip
    assigned = assignments(history).selectExpr(
        *GROUP_LOG, "completed as proof", f"{ASSIGNS} as kind", "generation as newest"
    )  # fmt: skip
    line = Window.partitionBy(*GROUP_LOG).orderBy("proof", "kind").rowsBetween(UNBOUNDED, 0)
    return (
        made.unionByName(assigned, allowMissingColumns=True)
        .withColumn("newest", F.max("newest").over(line))
        .where(f"kind = {COMMITS}")
        .drop("kind")
    )
