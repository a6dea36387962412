"""Which member owned a partition, for how long nobody did, and where the next owner began to read."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.commits import certain_polls, isolation, reaches
from analyzers.facts.compaction import without_compacted
from analyzers.facts.fact import LOG, fact
from analyzers.facts.members import (
    ENDLESS,
    GROUP_LOG,
    UNBOUNDED,
    assignments,
    binding_commits,
    commits,
    deaths,
    events,
    members,
)
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
    generation, only an accepted commit shows that, and not for an assignment that is older than one before it: its
    member heard of it late, when the coordinator had long given the partition to others. surely_held (ns): the same
    of assignments of this generation whose end is known, by members without group.instance.id.
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
    before = Window.partitionBy(*GROUP_LOG).orderBy(*order).rowsBetween(UNBOUNDED, -1)
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
        .withColumn("newest", F.max("generation").over(before))
        .withColumn("other", F.when(F.expr("generation >= newest"), F.max("lasting").over(before)))
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


@fact(needs="member")
def orphans(history: History) -> DataFrame:
    """One row per time without an owner during which at every moment some member was alive.

    Columns: group, began, lasted (ns).
    """
    gaps = _unowned(history)
    return (
        gaps.join(_alive(history), ["run", "group"])
        .withColumn("began", F.expr("greatest(began, born)"))
        .withColumn("lasted", F.expr("least(over, gone) - began"))
        .where("lasted > 0")
        .select(*GROUP_LOG, "began", "lasted")
    )


def _unowned(history: History) -> DataFrame:
    """Between assignments and after the last one: group and log, began, over (ns)."""
    owned = assignments(history).selectExpr(
        *GROUP_LOG, "invoked as opens", f"coalesce(ended, {ENDLESS}L) as closes"
    )
    line = Window.partitionBy(*GROUP_LOG).orderBy("opens", "closes")
    sofar = owned.withColumn("began", F.max("closes").over(line.rowsBetween(UNBOUNDED, 0)))
    following = sofar.withColumn("over", F.coalesce(F.lead("opens").over(line), F.lit(ENDLESS)))
    return following.where("began < over").select(*GROUP_LOG, "began", "over")


def _alive(history: History) -> DataFrame:
    """Per group, the times at which it certainly had a member (ns): from born, its first event, to gone, its last."""
    one = ["run", "group", "process"]
    signs = (
        events(history)
        .select(*one, "event", "invoked", "completed")
        .unionByName(
            commits(history).selectExpr(*one, "'commit' as event", "invoked", "invoked as completed")
        )
        .unionByName(deaths(history).join(members(history), ["run", "process"]))
        .withColumn("end", F.expr("event in ('left', 'fenced', 'died')"))
    )
    own = Window.partitionBy(*one).orderBy("invoked", "completed", "event")
    lives = (
        signs.withColumn("life", F.expr("count_if(end)").over(own.rowsBetween(UNBOUNDED, -1)))
        .groupBy(*one, "life")
        .agg(F.expr("min(completed) filter (where not end)").alias("born"), F.max("invoked").alias("gone"))
        .where("born < gone")
    )
    line = Window.partitionBy("run", "group").orderBy("born", "gone")
    return (
        lives.withColumn("before", F.max("gone").over(line.rowsBetween(UNBOUNDED, -1)))
        .withColumn(
            "number", F.expr("count_if(before is null or before < born)").over(line.rowsBetween(UNBOUNDED, 0))
        )
        .groupBy("run", "group", "number")
        .agg(F.min("born").alias("born"), F.max("gone").alias("gone"))
        .drop("number")
    )


# Of events in the same nanosecond, what was reached counts for the assignment.
REACHES, BEGINS = 0, 1

ASSIGNMENT = [*GROUP_LOG, "process", "op", "generation", "time", "reached", "position", "policy", "stored"]


@fact(needs="member")
def handovers(history: History) -> DataFrame:
    """One row per assignment and record between what the group had reached before it and where it began.

    Columns: process, op, generation, time (ns, its completion), reached, position, offset; policy: the member's
    auto.offset.reset; stored: whether a commit of the group had taken effect before; polled: by any member of the
    group at any time; there: polled after the assignment, by any process with the isolation level of the group, and
    not, without read_committed, of a transaction that was aborted or that may have been.
    """
    gaps = assignments_above(history)
    of = members(history).withColumn("mine", F.lit(True))
    # The replica that one member read may have been compacted, and that which a later reader got not yet.
    polls = without_compacted(certain_polls(history), history)
    visible = "invoked > time and (coalesce(committed, false) or not coalesce(careful, true))"
    return (
        polls.selectExpr(*LOG, "process as poller", "offset", "invoked", "committed")
        .join(F.broadcast(gaps), LOG)
        .where("offset between reached and position - 1")
        .join(F.broadcast(isolation(history)), ["run", "group"], "left")
        .join(F.broadcast(of.withColumnRenamed("process", "poller")), ["run", "group", "poller"], "left")
        .groupBy(*ASSIGNMENT, "offset")
        .agg(
            F.expr("bool_or(coalesce(mine, false))").alias("polled"),
            F.expr(f"bool_or({visible})").alias("there"),
        )
    )


def assignments_above(history: History) -> DataFrame:
    """The assignments whose position is above what the group had reached: the columns of `ASSIGNMENT`.

    A group that starts for the first time, with auto.offset.reset=earliest and without a commit, has reached 0: it
    starts at the log start.
    """
    began = assignments(history).selectExpr(
        *GROUP_LOG, "process", "op", "generation", "invoked", "completed as time", f"{BEGINS} as kind",
        "start_offset as reached", "policy",
    )  # fmt: skip
    earlier = (
        reaches(history).selectExpr(*GROUP_LOG, "known as time", "reached").withColumn("kind", F.lit(REACHES))
    )
    line = Window.partitionBy(*GROUP_LOG).orderBy("time", "kind", "op").rowsBetween(UNBOUNDED, -1)
    tried = commits(history).where("type <> 'fail'").groupBy(*GROUP_LOG).agg(F.min("invoked").alias("tried"))
    done = binding_commits(history).groupBy(*GROUP_LOG).agg(F.min("completed").alias("done"))
    first = "if(policy = 'earliest' and coalesce(time < tried, true), 0, null)"
    return (
        began.unionByName(earlier, allowMissingColumns=True)
        .withColumn("position", F.col("reached"))
        .withColumn("reached", F.max("reached").over(line))
        .where(f"kind = {BEGINS}")
        .join(F.broadcast(tried), GROUP_LOG, "left")
        .join(F.broadcast(done), GROUP_LOG, "left")
        .withColumn("reached", F.expr(f"coalesce(reached, {first})"))
        .where("reached < position")
        .withColumn("stored", F.expr("coalesce(done < invoked, false)"))
        .select(*ASSIGNMENT)
    )
