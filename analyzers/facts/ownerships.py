"""Per assignment of a partition: whether another member of its generation still owned it."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import fact
from analyzers.facts.members import GROUP_LOG, UNBOUNDED, assignments, commits
from analyzers.history.load import History

AT_ONCE = "ending_event in ('revoked', 'left', 'assigned')"
"""Events that a member learns of when they happen. It learns only later that it lost a partition or was fenced."""


@fact(needs="member")
def ownerships(history: History) -> DataFrame:
    """One row per assignment with a generation.

    Columns: group, process, op, generation, began, until (ns): it was certainly in force between them; held
    (ns): until when an assignment of the same generation that began no later was certainly in force.
    """
    assigned = assignments(history).where("generation is not null").withColumnRenamed("completed", "began")
    # A commit that was accepted during an assignment proves that it was still in force.
    accepted = commits(history).where("type = 'ok'").selectExpr(
        *GROUP_LOG, "process", "generation", "invoked as proof", "coalesce(completed, invoked) as accepted"
    )  # fmt: skip
    key = [*GROUP_LOG, "process", "generation"]
    proofs = (
        assigned.select(*key, "began", "op", "ending")
        .join(accepted, key)
        .where("proof >= began and accepted <= coalesce(ending, accepted)")
        .groupBy(*key, "op")
        .agg(F.max("proof").alias("proof"))
    )
    line = Window.partitionBy(*GROUP_LOG, "generation").orderBy("began", "until", "process", "op")
    return (
        assigned.join(proofs, [*key, "op"], "left")
        .withColumn("until", F.expr(f"if({AT_ONCE}, ending, coalesce(proof, began))"))
        .withColumn("held", F.max("until").over(line.rowsBetween(UNBOUNDED, -1)))
        .select(*GROUP_LOG, "process", "op", "generation", "began", "until", "held")
    )
