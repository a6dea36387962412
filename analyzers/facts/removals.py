"""What may have removed records from the beginning of a log, and which final read of it counts.

The harness records with which settings a topic was created, see `removals`. Changes of the settings count besides, of
every incarnation of a topic: by administrators and faults, and as samples of probes show them. A change of unknown
outcome may have happened. One that was requested after the final read of a log had no effect on what it found; a
sample does not say when a change was made.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import LOG, REMOVALS, TIME
from analyzers.history.fault_events import RECREATE
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

NAME = "substring_index(topic, '@', 1)"
"""Of a topic, without the number of its incarnation: probes report settings when they change, not when it is created
again."""

_ALTERED = "from_json(value, 'retention_ms string, config map<string, string>')"

_OF_FAULT = "from_json(value, 'options struct<settings: map<string, string>>').options.settings"

CHANGES = f"""
    changes as (
        select run, {NAME} as name, invoked as since, if(
            said.retention_ms is null or coalesce(map_contains_key(said.config, 'retention.ms'), false),
            said.config, map_concat(
                coalesce(said.config, cast(map() as map<string, string>)), map('retention.ms', said.retention_ms)
            )
        ) as config
        from (
            select run, topic, invoked, {_ALTERED} as said from {{operations}} where f = 'alter' and type <> 'fail'
        )
        union all
        select run, get_json_object(value, '$.evidence.topic'), invoked, {_OF_FAULT}
        from {{operations}} where process = {NEMESIS} and f like 'configure%'
        union all
        select run, {NAME}, null, from_json(value, 'map<string, string>')
        from {{observations}} where kind = 'settings'
    )
"""
"""A common table expression: name (of a topic, without the number of its incarnation; null for every topic of the
run), since (ns; null if unknown), config (by setting; a null is the brokers' default)."""


def policy(config: str) -> str:
    """SQL: the cleanup policy in it, of the topic or of the broker; null if it says none."""
    return f"coalesce({config}['cleanup.policy'], {config}['log.cleanup.policy'])"


def is_reset(config: str, *settings: str) -> str:
    """SQL: it has one of these settings, as the brokers' default, which is not known."""
    keys = ", ".join(f"'{setting}'" for setting in settings)
    return f"coalesce(exists(array({keys}), key -> map_contains_key({config}, key) and {config}[key] is null), false)"


FINAL_READS = """
    final_reads as (
        select run, topic, partition, last.process as final_process, last.invoked as final_invoked,
            coalesce(last.start_offset, 0) as final_start, last.end_offset as final_end,
            coalesce(get_json_object(last.value, '$.committed') = 'true', false) as final_committed
        from (
            select run, topic, partition,
                max(struct(completed, invoked, process, start_offset, end_offset, value)) as last
            from {operations} where f = 'final-read' and type = 'ok' group by run, topic, partition
        )
    )
"""
"""A common table expression."""


def final_reads(history: History) -> DataFrame:
    """One row per log that was read to its end: the last such read.

    Columns: final_process, final_invoked (ns), final_start, final_end (offsets, the end exclusive), final_committed
    (whether it is recorded to have read with read_committed).
    """
    return history.shared_sql(f"with {FINAL_READS} select * from final_reads")


EVERYTHING = (1 << 63) - 1
"""An offset above all others."""

LONG = 7 * 86_400_000
"""ms, Kafka's default of retention.ms. A run that goes on is taken to end before its records are that old."""

OWN_LENGTHS = f"""
        select *, max(last) over (partition by run) as until from (
            select run, topic, partition, max(offset) filter (where f = 'poll') as top, max({TIME}) as last,
                bool_or(committed) filter (where final) as isolated
            from {{records}} group by run, topic, partition
        )
"""
"""Per log with a record; see `removals`. All records are read for it, which `tally` has done before."""

KNOWN_LENGTHS = "select * from {lengths}"

_REMOVALS = f"""
    with {FINAL_READS}, {CHANGES}, lengths as (
        lengths_of_logs
    ), ends as (
        select run, topic, partition, max(completed) as read_at
        from {{operations}} where f = 'final-read' and type = 'ok' group by run, topic, partition
    ), changed as (
        select lengths.run, lengths.topic, lengths.partition,
            bool_or(coalesce({policy("config")} like '%compact%', false)
                or coalesce(try_cast(config['retention.bytes'] as bigint) >= 0, false)) as limited,
            bool_or({is_reset("config", "cleanup.policy", "retention.ms", "retention.bytes")}) as unclear,
            min(if(try_cast(config['retention.ms'] as bigint) >= 0, cast(config['retention.ms'] as bigint), null))
                as shortest
        from lengths left join ends using (run, topic, partition)
            join changes on changes.run = lengths.run and changes.name = substring_index(lengths.topic, '@', 1)
        where coalesce(since <= read_at, true)
        group by lengths.run, lengths.topic, lengths.partition
    ), created as (
        select run, topic, invoked, get_json_object(value, "$.config['cleanup.policy']") as policy,
            try_cast(get_json_object(value, "$.config['retention.ms']") as bigint) as ms,
            try_cast(get_json_object(value, "$.config['retention.bytes']") as bigint) as bytes
        from {{operations}} where f = 'topic' and get_json_object(value, '$.event') in ('created', 'recreated')
    ), settings as (
        select run, topic, min(invoked) as since, bool_and(policy not like '%compact%' and bytes < 0) as unlimited,
            bool_or(policy is null or ms is null or bytes is null) as incomplete,
            min(if(ms < 0, null, ms)) as least
        from created group by run, topic
    ), recreations as (
        select run as of_run, substring_index(topic, '@', 1) as of_topic, invoked as recreated
        from {{operations}} where f = 'topic' and get_json_object(value, '$.event') = 'recreated'
    ), deletions as (
        select run, topic, min(invoked) as deleted_at
        from (
            select run, topic, invoked from {{operations}} left semi join recreations
                on run = of_run and {NAME} = of_topic and recreated >= invoked
            where f = 'topic' and get_json_object(value, '$.event') = 'deleted'
            union all
            select run, topic, invoked from {{operations}}
            where f = 'alter' and type <> 'fail' and get_json_object(value, '$.change') = 'delete'
        ) group by run, topic
    ), faults as (
        select run, f, invoked, completed, coalesce(topic, get_json_object(value, '$.evidence.topic')) as topic, value
        from {{operations}}
        where process = {NEMESIS} and get_json_object(value, '$.removes_records') = 'true'
            and get_json_object(value, '$.stage') = 'inject'
    ), removing as (
        select run, topic,
            try_cast(get_json_object(value, '$.evidence.partition') as int) as partition,
            try_cast(coalesce(
                get_json_object(value, '$.evidence.before'), get_json_object(value, '$.evidence.start')
            ) as bigint) as before
        from faults left anti join recreations
            on run = of_run and f = '{RECREATE}' and recreated between faults.invoked and completed
    ), answers as (
        select run as of_run, op as of_op from {{operations}} where f = 'deletion' and type <> 'info'
    ), requested as (
        select run, topic, partition, end_offset as before
        from {{operations}} left anti join answers on run = of_run and op = of_op and type = 'info'
        where f = 'deletion' and type <> 'fail'
    ), removers as (
        select run, bool_or(before is null) as unlocated from removing group by run
    ), deleted as (
        select run, topic, partition, max(before) as deleted_to
        from (select * from removing union all select * from requested) group by run, topic, partition
    ), observed as (
        select run, topic, partition, max(log_start) as seen_start
        from {{observations}} where kind = 'partition' group by run, topic, partition
    ), phases as (
        select run, min(invoked) as final_phase from {{operations}}
        where f = 'phase' and get_json_object(value, '$.phase') = 'final' group by run
    ), combined as (
        select /*+ BROADCAST(settings), BROADCAST(removers), BROADCAST(deleted), BROADCAST(observed),
                BROADCAST(phases), BROADCAST(final_reads), BROADCAST(deletions), BROADCAST(changed),
                BROADCAST(ends) */
            run, topic, partition, top, until, isolated, final_phase, final_start, deleted_to, seen_start,
            coalesce(unlocated, false) as unlocated,
            coalesce(deleted_at <= coalesce(read_at, deleted_at), false) as gone,
            least(least, shortest) as retention,
            case
                when since is not null then unlimited and not incomplete and not coalesce(limited, false)
                    and if(unclear, null, true)
                    and coalesce(least(least, shortest) >= (until - since) / 1000000, true)
                when limited or shortest < {LONG} then false
            end as stays
        from lengths left join settings using (run, topic) left join removers using (run)
            left join deleted using (run, topic, partition) left join observed using (run, topic, partition)
            left join phases using (run) left join final_reads using (run, topic, partition)
            left join deletions using (run, topic) left join changed using (run, topic, partition)
            left join ends using (run, topic, partition)
    ), bounds as (
        select *,
            if(coalesce(stays, false) and not unlocated, coalesce(deleted_to, 0), {EVERYTHING}) as allowed_to,
            if(not coalesce(stays, true) or unlocated, {EVERYTHING}, greatest(deleted_to, seen_start, 0)) as known_to
        from combined
    )
    select run, topic, partition, top, until, isolated, final_phase, gone, allowed_to, retention,
        if(gone, {EVERYTHING}, least(allowed_to, coalesce(final_start, known_to))) as removed_to
    from bounds
"""


def removals(history: History) -> DataFrame:
    """One row per log with a record.

    Columns: top, the highest offset that any poll returned (null for none); until (ns), when the run's last record
    completed; isolated: whether a final read polled with read_committed; final_phase (ns): when the final phase
    began, after which the ends of the logs are requested, and then the final reads begin; gone: whether the topic was
    deleted, and another one created by that name, or an administrator may have deleted it before the final read
    ended; removed_to: the offset below which records may have been removed. That is the log start that the final read
    found; without one, the highest log start that a broker or delete-records reported, or `EVERYTHING` if it is
    unknown. It is not above what the run allows: where the topic's settings let every record of the run stay, and all
    faults that remove records say where, only what these were asked to remove, and what administrators asked to
    delete, unless the leader refused it. A recreation removes everything from the log that it ends, and nothing from
    the new one, which is another log. retention: the shortest time for which the topic kept its records (ms), null
    for no limit.

    Retention by time counts where it is not longer than the run: a record is removed when it is that old. A history
    without rows of its topics does not say what its settings allow, and allows everything. Changes of settings that
    administrators requested, or that samples show, count besides (see `analyzers.facts.removals`): a change to the
    brokers' default allows everything, too, because that is not known.
    """
    lengths = KNOWN_LENGTHS if history.known and history.known.lengths else OWN_LENGTHS
    return history.shared_sql(_REMOVALS.replace("lengths_of_logs", lengths))


def removed_beginnings(history: History) -> DataFrame:
    """The logs whose beginning may be gone. Columns: those of `LOG`, removed_to (above 0).

    While the run goes on all logs, because everything may be removed that the settings of the topic do not keep.
    """
    if history.is_running:
        removed_to = f"if(gone or retention < {LONG}, {EVERYTHING}, allowed_to) as removed_to"
        return removals(history).selectExpr(*LOG, removed_to)
    if not history.has(REMOVALS):
        return history.operations.limit(0).selectExpr(*LOG, "0L as removed_to")
    return removals(history).where("removed_to > 0").select(*LOG, "removed_to")
