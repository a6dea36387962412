"""Per sample of eligible leader replicas (KIP-966), and per election that followed on an empty ISR."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import ELIGIBLE_REPLICAS, fact
from analyzers.facts.settings import NAME
from analyzers.facts.watermarks import UNCLEAN
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

_SAMPLES = """
    select run, topic, partition, node, time, leader, leader_epoch, isr, named.eligible, named.last_known
    from (
        select *, from_json(value, 'eligible array<int>, last_known array<int>') as named
        from {observations} where kind = 'eligible'
    )
"""


@fact(needs=ELIGIBLE_REPLICAS)
def eligibles(history: History) -> DataFrame:
    """One row per sample with eligible replicas.

    Columns: node (which answered), time (ns), leader, leader_epoch, isr, eligible, and min_isr: the highest
    min.insync.replicas of the topic that was seen in the run; null for none, and if a fault or an administrator
    changed it.
    """
    return history.sql(f"""
        with demanded as (
            select run, {NAME} as name,
                max(cast(get_json_object(value, "$['min.insync.replicas']") as int)) as min_isr
            from {{observations}} where kind = 'settings' group by run, {NAME}
        ), changed as (
            select distinct run from {{operations}}
            where (f like 'configure%' or f = 'alter' and type <> 'fail') and value like '%min.insync.replicas%'
        ), known as (
            select * from demanded left anti join changed using (run)
        ), samples as (
            select *, {NAME} as name from ({_SAMPLES}) where size(eligible) > 0
        )
        select /*+ BROADCAST(known) */ run, topic, partition, node, time, leader, leader_epoch, isr, eligible, min_isr
        from samples left join known using (run, name)
    """)


@fact(needs=ELIGIBLE_REPLICAS)
def empty_isr_elections(history: History) -> DataFrame:
    """One row per leader that was named for the epoch after one in which there was no leader and nobody in sync.

    Columns: leader_epoch, leader, node and time (ns; of the first answer that named it), eligible (as sampled last in
    the epoch before), last_known (the last known leader); is_eligible: whether the leader was eligible in every
    sample of the epoch before, or the last known one; is_excused: whether the topic allowed unclean elections at any
    time, or a fault had begun that elects uncleanly, or a change of that setting. While the ISR is empty, nobody
    becomes eligible.
    """
    return history.sql(f"""
        with leaderless as (
            select run, topic, partition, leader_epoch + 1 as leader_epoch, max_by(eligible, time) as eligible,
                collect_list(eligible) as each, array_distinct(flatten(collect_list(last_known))) as last_known
            from ({_SAMPLES}) where leader = -1 and size(isr) = 0
            group by run, topic, partition, leader_epoch
        ), elected as (
            select run, topic, partition, leader_epoch, leader, min(struct(time, node)) as first, {NAME} as name
            from {{observations}} where kind in ('partition', 'eligible') and leader >= 0
            group by run, topic, partition, leader_epoch, leader
        ), forced as (
            select run, min(invoked) as forced_at from {{operations}}
            where (process = {NEMESIS} or f = 'alter' and type <> 'fail') and value like '%unclean%' group by run
        ), unclean as ({UNCLEAN})
        select run, topic, partition, leader_epoch, leader, first.node, first.time, eligible, last_known,
            forall(each, some -> array_contains(some, leader)) or array_contains(last_known, leader) as is_eligible,
            coalesce(is_unclean or forced_at <= first.time, false) as is_excused
        from elected join leaderless using (run, topic, partition, leader_epoch)
            left join unclean using (run, name) left join forced using (run)
    """)
