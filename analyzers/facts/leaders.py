"""What leaders reported: high watermarks, ends and starts of logs, within an epoch and from one to the next.

Only the answers of brokers that surely were leaders count.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.fact import LOG, SAMPLES, SERVED, FirstLook, fact, same
from analyzers.facts.removals import NAME, removals
from analyzers.history.load import History
from workloads.history.schema import NEMESIS


def answers_of_leaders(history: History) -> DataFrame:
    """One row per sample in which a broker called itself the leader, and did so in the same epoch with its next one.

    Columns: those of the observations. A broker answers for its metadata first, and may have lost the leadership
    before it answers for its log. Of its last answer, nothing shows that it was still the leader.
    """
    samples = Window.partitionBy(*LOG, "node").orderBy("time")
    return (
        history.observations.where("kind = 'partition'")
        .withColumn("next", F.lead(F.struct("leader", "leader_epoch")).over(samples))
        .where("leader = node and next.leader = node and next.leader_epoch = leader_epoch")
    )


DESTROYS = ("power-loss", "wipe", "corrupt", "log-dir-failure")
"""Faults after which a broker may lack records that it had."""

LOSSES = f"""
    select run, min(invoked) as lost_at from {{operations}}
    where f in ({", ".join(f"'{each}'" for each in DESTROYS)})
        or (process = {NEMESIS} or f = 'alter' and type <> 'fail') and value like '%unclean%'
    group by run
"""
"""Per run: when the first of these faults began, or one that elects uncleanly, or a change, by a fault or by an
administrator, of whether that is allowed."""

UNCLEAN = f"""
    select distinct run, {NAME} as name, true as is_unclean from {{observations}}
    where kind = 'settings' and get_json_object(value, "$['unclean.leader.election.enable']") = 'true'
"""
"""Topics that allowed unclean elections at any time."""


@fact(
    needs=SAMPLES,
    looks=[
        FirstLook(per="sample", columns={"high_watermark": "mark", "log_end": "own_end"}),
        FirstLook(per="mark", columns={"high_watermark": "mark"}, upper={"before": "in_epoch"}),
    ],
)
def watermarks(history: History) -> DataFrame:
    """One row per answer of a leader.

    Columns: node, leader_epoch, time (ns, when the answer had arrived), high_watermark and log_end (may be null), and
    before: the highest high watermark that it had reported in this epoch before it was asked; null for none.
    """
    led = answers_of_leaders(history)
    moments = led.selectExpr(
        *LOG, "node", "leader_epoch", "log_end",
        "inline(array(struct(time as at, high_watermark as answered, null as sample), "
        "struct(asked as at, null as answered, struct(time, high_watermark) as sample)))",
    )  # fmt: skip
    line = Window.partitionBy(*LOG, "leader_epoch").orderBy("at").rangeBetween(Window.unboundedPreceding, -1)
    return (
        moments.withColumn("before", F.max("answered").over(line))
        .where("sample is not null")
        .selectExpr(
            *LOG, "node", "leader_epoch", "sample.time", "sample.high_watermark", "log_end", "before",
        )
    )  # fmt: skip


@fact(
    needs=SAMPLES,
    looks=[FirstLook(per="epoch", lower={"log_end": "least_end"}, upper={"committed": "reached"})],
)
def successions(history: History) -> DataFrame:
    """One row per leader epoch of each log, as far as its leader answered.

    Columns: leader_epoch; of the first answer with the end of the log, null for none: node (the leader), time (ns,
    when it had arrived), log_end; isr_before (of the latest earlier epoch that was seen, as it was seen last);
    committed; is_excused: whether a fault had begun before that destroys records or elects uncleanly, or the topic
    allowed unclean elections.

    committed is the offset up to which the log surely had been on all in-sync replicas: the highest high watermark
    that a leader of an earlier epoch had reported before any leader of a later one was asked, or where a leader
    between them had less, the end of its log. -1 for none.
    """
    led = answers_of_leaders(history)
    # Backwards: Spark computes a frame that is unbounded at its end again for each row.
    later = (
        Window.partitionBy(*LOG).orderBy(F.desc("leader_epoch")).rangeBetween(Window.unboundedPreceding, -1)
    )
    return history.records.sparkSession.sql(
        _SUCCESSIONS,
        led=led.withColumn("superseded", F.min("asked").over(later)),
        observations=history.observations,
        operations=history.operations,
    )


_SUCCESSIONS = f"""
    with of_epochs as (
        select run, topic, partition, leader_epoch,
            min(struct(asked, time, node, log_end)) filter (where log_end is not null) as first,
            max(high_watermark) filter (where time < superseded) as watermark
        from {{led}} group by run, topic, partition, leader_epoch
    ), seen as (
        select run, topic, partition, leader_epoch, max_by(isr, time) as isr
        from (
            select run, topic, partition, leader_epoch, isr, max(time) as time
            from {{observations}} where kind = 'partition' and isr is not null
            group by run, topic, partition, leader_epoch, isr
        )
        group by run, topic, partition, leader_epoch
    ), beside as (
        select run, topic, partition, leader_epoch, lag(isr) over (
            partition by run, topic, partition order by leader_epoch
        ) as isr_before
        from seen
    ), chains as (
        select run, topic, partition, aggregate(
            array_sort(collect_list(struct(leader_epoch, first, watermark, isr_before))),
            named_struct('committed', -1L, 'rows', cast(array() as array<struct<
                leader_epoch: int, time: bigint, node: int, log_end: bigint, isr_before: array<int>, committed: bigint
            >>)),
            (chain, each) -> named_struct(
                'committed', greatest(least(chain.committed, each.first.log_end), each.watermark),
                'rows', array_append(chain.rows, named_struct(
                    'leader_epoch', each.leader_epoch, 'time', each.first.time, 'node', each.first.node,
                    'log_end', each.first.log_end, 'isr_before', each.isr_before, 'committed', chain.committed
                ))
            )
        ) as chain
        from of_epochs left join beside using (run, topic, partition, leader_epoch)
        group by run, topic, partition
    ), losses as ({LOSSES}), unclean as ({UNCLEAN}), rows as (
        select run, topic, partition, inline(chain.rows), {NAME} as name from chains
    )
    select *, coalesce(lost_at <= time or is_unclean, false) as is_excused
    from rows left join losses using (run) left join unclean using (run, name)
"""

SHORT = 3_600_000
"""ms. A topic that ever had a shorter retention may have lost any of its records."""


@fact(
    needs=SAMPLES,
    looks=[
        FirstLook(per="epoch", upper={"log_start": "start"}, lower={"allowed_to": "deleted_to"}),
        FirstLook(per="mark", columns={"log_start": "start"}, upper={"before": "start_in_epoch"}),
    ],
)
def log_starts(history: History) -> DataFrame:
    """One row per answer of a leader of a log that the run's clients used.

    Columns: node, leader_epoch, time (ns, when the answer had arrived), log_start; before: the highest log start that
    it had reported in this epoch and over this connection before it was asked, null for none; and allowed_to: the
    offset below which records may have been removed as far as the run recorded it (see `removals`), null where that
    is unknown: where the topic ever was compacted, was limited in bytes or had a retention below `SHORT`, or a fault
    changed clocks.
    """
    return history.records.sparkSession.sql(
        _LOG_STARTS,
        led=answers_of_leaders(history),
        allowed=removals(history).select("run", "topic", "partition", "allowed_to"),
        observations=history.observations,
        operations=history.operations,
    )


_LOG_STARTS = f"""
    with limited as (
        select distinct run, {NAME} as name, true as is_limited from {{observations}}
        where kind = 'settings' and (
            get_json_object(value, "$['cleanup.policy']") like '%compact%'
            or cast(get_json_object(value, "$['retention.bytes']") as bigint) >= 0
            or cast(get_json_object(value, "$['retention.ms']") as bigint) between 0 and {SHORT}
        )
    ), clocks as (
        select distinct run, true as has_clock from {{operations}} where f = 'clock'
    ), moments as (
        select run, topic, partition, node, leader_epoch, connection, inline(array(
            struct(time as at, log_start as answered, null as sample),
            struct(asked as at, null as answered, struct(time, log_start) as sample)
        ))
        from {{led}}
    ), ordered as (
        select *, max(answered) over (
            partition by run, topic, partition, node, leader_epoch, connection order by at
            range between unbounded preceding and 1 preceding
        ) as highest
        from moments
    )
    select /*+ BROADCAST(allowed, limited, clocks) */ run, topic, partition, node, leader_epoch, sample.time,
        sample.log_start,
        if(connection is not null, highest, null) as before,
        if(is_limited or has_clock, null, allowed_to) as allowed_to
    from (select *, {NAME} as name from ordered where sample is not null)
        join {{allowed}} as allowed using (run, topic, partition)
        left join limited using (run, name) left join clocks using (run)
"""


@fact(
    needs=SAMPLES,
    looks=[FirstLook(per="leader", columns=same("offset"), lower=same("watermark"))],
)
def leader_polls(history: History) -> DataFrame:
    """One row per poll and log, of each broker and each leader epoch of the records that it served.

    Columns: process, op, node, leader_epoch, offset (the highest returned), value (at it), time (ns, when its
    last response had arrived), and watermark: the lowest high watermark that the broker, as the leader in that epoch,
    returned to a request sent later; null for none. The definition of read-above-watermark says which answers count.
    """
    polls = (
        history.records.where("f = 'poll' and offset is not null and node is not null")
        .groupBy(*LOG, "node", "leader_epoch", "process", "op")
        .agg(F.expr("max(struct(offset, value))").alias("top"), F.expr(f"max({SERVED})").alias("at"))
        .selectExpr(
            *LOG, "node", "leader_epoch", "process", "op", "top.offset as offset", "top.value as value", "at"
        )
    )
    answers = (
        answers_of_leaders(history)
        .selectExpr(*LOG, "node", "leader_epoch", "asked as at", "high_watermark")
        .where("at is not null and high_watermark is not null")
    )
    # A request sent in the same nanosecond as the response arrived is not ordered after it.
    later = (
        Window.partitionBy(*LOG, "node", "leader_epoch")
        .orderBy(F.desc("at"))
        .rangeBetween(Window.unboundedPreceding, -1)
    )
    return (
        polls.unionByName(answers, allowMissingColumns=True)
        .withColumn("watermark", F.min("high_watermark").over(later))
        .where("op is not null")
        .withColumnRenamed("at", "time")
        .drop("high_watermark")
    )
