"""What a history put to the test, and what keeps it from being judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.course import Course
from analyzers.facts.columns import ACKED, LOG
from analyzers.fault_events import FaultEvent
from analyzers.load import History
from analyzers.verdict import Exercised, FaultExercised
from workloads.history.schema import HARNESS, NEMESIS

UNBOUNDED = Window.unboundedPreceding


@dataclass(kw_only=True)
class Tally:
    """The counts of one run, as they come out of Spark."""

    began: int | None = None
    """ns, of the first operation."""
    types: dict[str, Counter[str]] = field(default_factory=dict)
    """f to completion type to number."""
    written: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a send that may have happened."""
    finished: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a completed final read."""
    attempted: set[tuple[str, int]] = field(default_factory=set)
    """Topic-partitions with a final read of any kind."""
    nemesis: list[Row] = field(default_factory=list)
    acks: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Fault event to acknowledgements before, during and after it."""
    leader_changes: int = 0
    isr_changes: int = 0
    smallest_isr: int | None = None
    course: Course = field(default_factory=Course)

    def count(self, f: str) -> Counter[str]:
        return self.types.get(f, Counter())


def tally(history: History) -> dict[str, Tally]:
    """By run id, for every run that has a record or an operation."""
    tallies: dict[str, Tally] = {}
    for row in _counts(history).collect():
        run = tallies.setdefault(row.run, Tally())
        if row.began is not None:
            run.began = row.began if run.began is None else min(run.began, row.began)
        run.types.setdefault(row.f, Counter())[row.type] += row.n
        log = (row.topic, row.partition)
        if row.f == "send" and row.type != "fail":
            run.written.add(log)
        if row.f == "final-read":
            run.attempted.add(log)
            if row.type == "ok":
                run.finished.add(log)
    told = history.operations.where(f"process in ({NEMESIS}, {HARNESS})").collect()
    for row in sorted(told, key=lambda row: (row.run, row.invoked, row.op)):
        run = tallies[row.run]
        if row.process == NEMESIS:
            run.nemesis.append(row)
        else:
            run.course.note(row.f, row.value)
    if any(run.nemesis for run in tallies.values()):
        for row in _acks(history).collect():
            tallies[row.run].acks[row.event] = (row.before, row.during, row.after)
    for row in _changes(history).collect():
        if row.run in tallies:
            run = tallies[row.run]
            run.leader_changes, run.isr_changes, run.smallest_isr = row.leaders, row.isrs, row.smallest
    return tallies


def exercised(run: Tally, events: Sequence[FaultEvent]) -> Exercised:
    """The tally of a run as its verdict tells it."""
    faults = []
    for event in events:
        before, during, after = run.acks.get(event.event, (0, 0, 0))
        faults.append(
            FaultExercised(
                event=event.event,
                fault=event.fault,
                target=event.target,
                nodes=event.nodes,
                processes=event.processes,
                effective=event.inject is not None and event.inject.effective,
                healed=event.heal is not None and event.heal.effective,
                began=seconds(event.began, run.began),
                ended=seconds(event.ended, run.began),
                acks_before=before,
                acks_during=during,
                acks_after=after,
            )
        )
    return Exercised(
        sends=dict(run.count("send")),
        polls=run.count("poll").total(),
        transactions=dict(run.count("txn")),
        commits=dict(run.count("commit")),
        final_reads=dict(run.count("final-read")),
        session_reads=dict(run.count("read")),
        faults=tuple(faults),
        leader_changes=run.leader_changes,
        isr_changes=run.isr_changes,
        smallest_isr=run.smallest_isr,
    )


def unknowns(run: Tally, events: Sequence[FaultEvent]) -> tuple[str, ...]:
    """A sentence for each reason why this run cannot be called valid, whatever the checks find."""
    sends, polls = run.count("send"), run.count("poll")
    if not sends and not polls:
        return ("The history holds no records: nothing was sent and nothing read.",)
    sentences = []
    if not sends["ok"]:
        sentences.append(
            f"Nothing was acknowledged (of {sends.total():,} sends): no promise was put to the test."
        )
    sentences += [sentence for event in events for sentence in event.doubts()]
    sentences += run.course.doubts()
    for topic, partition in sorted(run.written - run.finished):
        tried = (
            "no final read completed" if (topic, partition) in run.attempted else "there was no final read"
        )
        sentences.append(
            f"{topic}-{partition} was written, but {tried}: what it holds at the end is not known."
        )
    return tuple(sentences)


def seconds(time: int | None, began: int | None) -> float | None:
    """s since the run's first operation, from ns; None while unknown."""
    return None if time is None or began is None else (time - began) / 1e9


def _counts(history: History) -> DataFrame:
    columns = [*LOG, "f", "type"]
    rows = history.records.select(*columns, "invoked").unionByName(
        history.operations.select(*columns, "invoked")
    )
    return rows.groupBy(*columns).agg(F.count("*").alias("n"), F.min("invoked").alias("began"))


def _acks(history: History) -> DataFrame:
    """Per run and fault event: acknowledgements before, during and after."""
    stages = history.operations.where(f"process = {NEMESIS}").selectExpr(
        "run",
        "get_json_object(value, '$.event') as event",
        "get_json_object(value, '$.stage') as stage",
        "invoked",
        "completed",
    )
    windows = stages.groupBy("run", "event").agg(
        F.expr("min(invoked) filter (where stage = 'inject')").alias("opening"),
        F.expr("min(completed) filter (where stage = 'inject')").alias("opened"),
        F.expr("min(invoked) filter (where stage = 'heal')").alias("closing"),
        F.expr("min(completed) filter (where stage = 'heal')").alias("closed"),
    )
    acks = history.records.where(ACKED).select("run", "invoked", "completed")
    return (
        acks.join(F.broadcast(windows), "run")
        .groupBy("run", "event")
        .agg(
            F.expr("count_if(completed < opening)").alias("before"),
            F.expr("count_if(invoked >= opened and completed <= coalesce(closing, completed))").alias(
                "during"
            ),
            F.expr("count_if(completed > closed)").alias("after"),
        )
    )


def _changes(history: History) -> DataFrame:
    """Per run: how often a partition's leader changed, and its ISR.

    Leaders by epoch, over what all brokers said. ISRs in the order in which one broker saw them, for
    two brokers lag behind one another; of the brokers the one that saw the most.
    """
    # All of a run in one place: samples are few, and then nothing is shuffled a second time.
    seen = (
        history.observations.where("kind = 'partition'")
        .selectExpr(
            *LOG, "node", "time", "leader_epoch", "nullif(leader, -1) as leader", "array_sort(isr) as isr"
        )
        .repartition("run")
    )
    by_epoch = Window.partitionBy(*LOG).orderBy("leader_epoch", "leader").rowsBetween(UNBOUNDED, -1)
    by_time = Window.partitionBy(*LOG, "node").orderBy("time").rowsBetween(UNBOUNDED, -1)
    return (
        seen.withColumn("last_leader", F.last("leader", ignorenulls=True).over(by_epoch))
        .withColumn("last_isr", F.last("isr", ignorenulls=True).over(by_time))
        .groupBy(*LOG, "node")
        .agg(
            F.expr("count_if(leader <> last_leader) as leaders"),
            F.expr("count_if(isr <> last_isr) as isrs"),
            F.expr("min(size(isr)) as smallest"),
        )
        .groupBy(*LOG)
        .agg(
            F.sum("leaders").alias("leaders"),
            F.max("isrs").alias("isrs"),
            F.min("smallest").alias("smallest"),
        )
        .groupBy("run")
        .agg(
            F.sum("leaders").alias("leaders"),
            F.sum("isrs").alias("isrs"),
            F.min("smallest").alias("smallest"),
        )
    )
