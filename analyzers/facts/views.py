"""Per sample of a broker's metadata, or of the controller in ZooKeeper: what had been reported before."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import SAMPLES, fact
from analyzers.history.load import History


@fact(needs=SAMPLES)
def views(history: History) -> DataFrame:
    """One row per sample of a partition, and of the controller in ZooKeeper.

    Columns: kind (partition or controller), node (which answered; null: ZooKeeper), time (ns, when the answer had
    arrived), leader, leader_epoch, isr, replicas, and newest: the highest leader epoch that it had reported over the
    same connection before it was asked; null for none.
    """
    return history.sql("""
        with moments as (
            select run, kind, topic, partition, node, connection, inline(array(
                struct(time as at, leader_epoch as answered, null as sample),
                struct(asked as at, null as answered, struct(time, leader, leader_epoch, isr, replicas) as sample)
            ))
            from {observations} where kind in ('partition', 'controller')
        ), ordered as (
            select *, max(answered) over (
                partition by run, topic, partition, node, connection order by at
                range between unbounded preceding and 1 preceding
            ) as before
            from moments
        )
        select run, kind, topic, partition, node, sample.time, sample.leader, sample.leader_epoch, sample.isr,
            sample.replicas, if(connection is not null, before, null) as newest
        from ordered where sample is not null
    """)


@fact(needs=SAMPLES)
def epochs(history: History) -> DataFrame:
    """One row per leader epoch of a partition, and per epoch of the controllers.

    Columns: kind (partition, quorum or controller), leader_epoch, and of the two brokers that were named as its
    leaders first: leader and other; node and other_node (which said so first), time (ns, when the second was named).
    Those of the second are null where all answers name the same one.
    """
    return history.sql("""
        with named as (
            select run, kind, topic, partition, leader_epoch, leader, min(struct(time, node)) as first
            from {observations} where leader >= 0 and kind in ('partition', 'quorum', 'controller')
            group by run, kind, topic, partition, leader_epoch, leader
        ), of_epochs as (
            select run, kind, topic, partition, leader_epoch,
                array_sort(collect_list(struct(first.time, leader, first.node))) as leaders
            from named group by run, kind, topic, partition, leader_epoch
        )
        select run, kind, topic, partition, leader_epoch, leaders[0].leader as leader, leaders[0].node as node,
            get(leaders, 1).leader as other, get(leaders, 1).node as other_node, get(leaders, 1).time as time
        from of_epochs
    """)
