"""What leaders reported of their logs: within an epoch, and from one epoch to the next."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.fact import SAMPLES, fact
from analyzers.facts.leading import answers_of_leaders
from analyzers.facts.settings import NAME
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

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


@fact(needs=SAMPLES)
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


@fact(needs=SAMPLES)
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
