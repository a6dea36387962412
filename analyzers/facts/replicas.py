"""What brokers reported of replicas: leaders and epochs, followers, the ISR, eligible leaders, and differences."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import ELIGIBLE_REPLICAS, SAMPLES, FirstLook, fact, same
from analyzers.facts.leaders import LOSSES, UNCLEAN, answers_of_leaders, successions
from analyzers.facts.removals import NAME
from analyzers.history.load import History
from workloads.history.schema import NEMESIS


@fact(
    needs=SAMPLES,
    looks=[
        FirstLook(per="sample", columns=same("kind leader isr replicas")),
        FirstLook(
            per="epoch",
            columns=same("kind leader_epoch"),
            upper={"newest": f"if(newer < last, {(1 << 31) - 1}, leader_epoch)"},
        ),
    ],
)
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


@fact(
    needs=SAMPLES,
    looks=[
        FirstLook(
            per="epoch",
            columns={"kind": "kind", "other": "if(lowest_leader < highest_leader, highest_leader, null)"},
        )
    ],
)
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


SETTLED = 1_000_000_000
"""ns after which a broker's metadata show that a replica has left the ISR. The leader itself learns of it a moment
before, from the answer of the controller, and may have raised its high watermark without the replica since."""


@fact(
    needs=SAMPLES,
    looks=[FirstLook(per="second", lower={"log_end": "follower_end"}, upper=same("held"))],
)
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

SECOND = 1_000_000_000
"""ns. Sends are looked up by the second in which they were invoked: a run has many times with a short ISR."""

MIN_ISR = f"""
    select run, {NAME} as name, min(cast(get_json_object(value, "$['min.insync.replicas']") as int)) as min_isr
    from {{observations}} where kind = 'settings' group by run, {NAME}
"""
"""The lowest setting of each topic that was seen."""


@fact(needs=SAMPLES, looks=[FirstLook(per="epoch", where=f"short_for > {2 * SETTLED}")])
def acks_in_short_isr(history: History) -> DataFrame:
    """One row per two successive answers of a leader in one epoch, both with fewer in-sync replicas than the lowest
    min.insync.replicas of the topic, and with acknowledgements between them.

    Columns: node, leader_epoch, time (ns, when the second answer was asked for), isr (of the first answer), min_isr;
    acks: sends of producers with acks=all that were invoked after the first answer had arrived, and acknowledged
    before the second one was asked for; acks_before: those between the two answers before, null for none. Answers
    count until `2 * SETTLED` before the last one of the period: the leader learns of a replica that is in sync again
    from the answer of the controller, and its metadata show it later.

    Only of clusters with a quorum of controllers (see `followers`), and of topics of runs in which neither a fault
    nor an administrator changed the setting.
    """
    return history.records.sparkSession.sql(
        _ACKS,
        led=answers_of_leaders(history),
        observations=history.observations,
        operations=history.operations,
        records=history.records,
    )


_ACKS = f"""
    with demanded as ({MIN_ISR}), quorums as (
        select distinct run from {{observations}} where kind = 'quorum'
    ), changed as (
        select distinct run from {{operations}}
            where (f like 'configure%' or f = 'alter' and type <> 'fail') and value like '%min.insync.replicas%'
    ), producers as (
        select distinct run, cast(get_json_object(value, '$.process') as int) as process from {{operations}}
        where f = 'worker' and get_json_object(value, '$.acks') = 'all'
    ), answers as (
        select /*+ BROADCAST(demanded, quorums, changed) */ *, size(isr) < min_isr as is_short
        from (select *, {NAME} as name from {{led}}) join demanded using (run, name)
            left semi join quorums using (run) left anti join changed using (run)
    ), periods as (
        select *, count_if(not is_short) over (
            partition by run, topic, partition, node, leader_epoch order by time
        ) as period
        from answers
    ), gaps as (
        select run, topic, partition, node, leader_epoch, isr, min_isr, period, time as began,
            lead(asked) over answers as ended, max(asked) over whole as until
        from periods where is_short
        window answers as (partition by run, topic, partition, node, leader_epoch, period order by time),
            whole as (partition by run, topic, partition, node, leader_epoch, period)
    ), spans as (
        select *, explode(sequence(began div {SECOND}, ended div {SECOND})) as second from gaps
    ), sends as (
        select /*+ BROADCAST(producers) */ run, topic, partition, invoked div {SECOND} as second, invoked, completed
        from {{records}} left semi join producers using (run, process)
        where f = 'send' and type = 'ok'
    ), counted as (
        select /*+ BROADCAST(spans) */ spans.* except (second), count(sends.invoked) as acks
        from spans left join sends on spans.run = sends.run and spans.topic = sends.topic
            and spans.partition = sends.partition and spans.second = sends.second
            and invoked > began and completed < ended
        group by all
    )
    select run, topic, partition, node, leader_epoch, ended as time, isr, min_isr, acks, lag(acks) over (
        partition by run, topic, partition, node, leader_epoch, period order by began
    ) as acks_before
    from counted where ended < until - {2 * SETTLED}
"""

LATE = 2_000_000_000
"""ns. A broker whose last answer was requested longer before the last one of all is left out: it was away."""


@fact(
    needs=SAMPLES,
    looks=[
        FirstLook(
            per="epoch", where="kind = 'partition' and is_latest", upper={"lasting": "last - newer_elsewhere"}
        )
    ],
)
def agreements(history: History) -> DataFrame:
    """One row per log that two or more brokers described at the end.

    Columns: oldest and newest: the lowest and the highest leader epoch in the last answers of the brokers; behind:
    the broker with the lowest one; time (ns): when the last of them had begun to report its epoch; lasting (ns): for
    how long each had reported the same one since.
    """
    return history.sql(f"""
        with viewed as (
            select *, lag(leader_epoch) over (partition by run, topic, partition, node order by time) as before
            from {{observations}} where kind = 'partition'
        ), by_node as (
            select run, topic, partition, node, max(asked) as until, max_by(leader_epoch, time) as epoch,
                max(time) filter (where before is null or before <> leader_epoch) as since
            from viewed group by run, topic, partition, node
        ), lasting as (
            select *, max(until) over (partition by run, topic, partition) as ended from by_node
        )
        select run, topic, partition, min(epoch) as oldest, max(epoch) as newest,
            min_by(node, struct(epoch, node)) as behind, max(since) as time, min(until) - max(since) as lasting
        from lasting where until >= ended - {LATE} group by run, topic, partition having count(*) > 1
    """)


@fact(needs="divergence")
def divergences(history: History) -> DataFrame:
    """One row per partition with a difference.

    Columns: time (ns, when it was known), offset (the first one), different (number of offsets), copies (JSON: the
    record of each node at that offset, see `workloads.history.schema`).
    """
    return history.sql("""
        select run, topic, partition, completed as time, start_offset as offset,
            cast(get_json_object(value, '$.different') as bigint) as different,
            get_json_object(value, '$.copies') as copies
        from {operations} where f = 'divergence'
    """)


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
