"""Acknowledgements between answers of a leader with fewer in-sync replicas than the topic demands."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import SAMPLES, fact
from analyzers.facts.followers import SETTLED
from analyzers.facts.leading import answers_of_leaders
from analyzers.facts.settings import NAME
from analyzers.history.load import History

SECOND = 1_000_000_000
"""ns. Sends are looked up by the second in which they were invoked: a run has many times with a short ISR."""

MIN_ISR = f"""
    select run, {NAME} as name, min(cast(get_json_object(value, "$['min.insync.replicas']") as int)) as min_isr
    from {{observations}} where kind = 'settings' group by run, {NAME}
"""
"""The lowest setting of each topic that was seen."""


@fact(needs=SAMPLES)
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
