"""Per acknowledged commit of a group: what had been committed and assigned before."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import fact
from analyzers.facts.members import GROUP_LOG, UNBOUNDED, assignments, commits, committed_before
from analyzers.history.load import History

# Of events in the same nanosecond, the commit comes first: the assignment was not completed before it.
COMMITS, ASSIGNS = 0, 1


@fact(needs="commit")
def group_commits(history: History) -> DataFrame:
    """One row per ok commit.

    Columns: group, process, op, generation, offset, reset, time (ns, its invocation), committed: the highest
    offset committed before; newest, newest_process: of the newest generation in which the log had been
    assigned before. Each may be null.
    """
    acknowledged = commits(history).where("type = 'ok' and completed is not null")
    made = committed_before(history, acknowledged, at="invoked", until="completed").withColumn(
        "kind", F.lit(COMMITS)
    )
    assigned = assignments(history).where("generation is not null").selectExpr(
        *GROUP_LOG, "completed as invoked", f"{ASSIGNS} as kind", "struct(generation, process) as newest"
    )  # fmt: skip
    line = Window.partitionBy(*GROUP_LOG).orderBy("invoked", "kind").rowsBetween(UNBOUNDED, 0)
    return (
        made.unionByName(assigned, allowMissingColumns=True)
        .withColumn("newest", F.max("newest").over(line))
        .where(f"kind = {COMMITS}")
        .selectExpr(
            *GROUP_LOG, "process", "op", "generation", "offset", "reset", "invoked as time", "committed",
            "newest.generation as newest", "newest.process as newest_process",
        )
    )  # fmt: skip
