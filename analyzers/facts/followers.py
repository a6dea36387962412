"""Per sample of a follower: up to which offset it surely had its log before."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import SAMPLES, fact
from analyzers.facts.leading import answers_of_leaders
from analyzers.facts.settings import NAME
from analyzers.facts.watermarks import LOSSES, UNCLEAN, successions
from analyzers.history.load import History

SETTLED = 1_000_000_000
"""ns after which a broker's metadata show that a replica has left the ISR. The leader itself learns of it a moment
before, from the answer of the controller, and may have raised its high watermark without the replica since."""


@fact(needs=SAMPLES)
def followers(history: History) -> DataFrame:
    """One row per sample in which a broker followed another one and counted itself among the in-sync replicas.

    Columns: node, time (ns, when the answer had arrived), leader, leader_epoch, isr, log_end; held: the offset below
    which the replica surely had all records before it was asked, null for none; and is_excused: whether there may be
    a cause for fewer. It held what was below a high watermark if the leader, asked at least `SETTLED` later and in
    the same epoch, named the same in-sync replicas as it does: a follower that is cut off goes on to name itself.
    Causes: a fault that destroys records or elects uncleanly had begun, the topic allowed unclean elections, the
    replicas were not the same all the time, or a leader of the log lacked records itself.

    Only of clusters with a quorum of controllers: with ZooKeeper, a leader may shrink its ISR up to a minute before
    others are told.
    """
    return history.records.sparkSession.sql(
        _FOLLOWERS,
        led=answers_of_leaders(history),
        shorter=successions(history).where("log_end < committed"),
        observations=history.observations,
        operations=history.operations,
    )


_FOLLOWERS = f"""
    with losses as ({LOSSES}), unclean as ({UNCLEAN}), quorums as (
        select distinct run from {{observations}} where kind = 'quorum'
    ), marks as (
        select /*+ BROADCAST(quorums) */ run, topic, partition, leader_epoch, inline(array(
            struct(time + {SETTLED} as at, high_watermark as mark, null as sample),
            struct(asked as at, null as mark, struct(time, isr) as sample)
        ))
        from {{led}} left semi join quorums using (run)
    ), settled as (
        select *, max(mark) over (
            partition by run, topic, partition, leader_epoch order by at
            range between unbounded preceding and 1 preceding
        ) as settled
        from marks
    ), moments as (
        select run, topic, partition, sort_array(sample.isr) as members, sample.time as at, settled as mark,
            null as sample
        from settled where sample is not null
        union all
        select run, topic, partition, sort_array(isr), asked, null,
            struct(node, time, leader, leader_epoch, isr, log_end)
        from {{observations}} where kind = 'partition' and node <> leader and array_contains(isr, node)
    ), ordered as (
        select *, max(mark) over (
            partition by run, topic, partition, members order by at range between unbounded preceding and 1 preceding
        ) as held
        from moments
    ), shortened as (
        select distinct run, topic, partition, true as is_short from {{shorter}}
    ), moved as (
        select run, topic, partition, true as is_moved
        from (select distinct run, topic, partition, replicas from {{observations}} where kind = 'partition')
        group by run, topic, partition having count(distinct sort_array(replicas)) > 1
    ), samples as (
        select run, topic, partition, inline(array(sample)), held, {NAME} as name
        from ordered where sample is not null
    )
    select /*+ BROADCAST(losses, unclean, shortened, moved) */ *,
        coalesce(lost_at <= time or is_unclean or is_short or is_moved, false) as is_excused
    from samples left join losses using (run) left join unclean using (run, name)
        left join shortened using (run, topic, partition) left join moved using (run, topic, partition)
"""
