"""Per sample of a coordinator: the states of groups and transactions, and what it had reported of them before."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import GROUP_STATES, TRANSACTION_STATES, fact, shared
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

GROUP = (
    "`group` string, type string, state string, protocol string, epoch int, assigned_epoch int, "
    "members map<string, array<string>>, positions map<string, bigint>"
)

TRANSACTION = "transactional_id string, state string, producer_id bigint, epoch int, started bigint"

EARLIER = "order by at range between unbounded preceding and 1 preceding"
"""SQL: the answers that had arrived before this one was asked for, see `_moments`."""


def _parsed(kind: str, columns: str) -> str:
    return f"""
        select run, node, connection, time, asked, from_json(value, '{columns}') as value
        from {{observations}} where kind = '{kind}' and connection is not null
    """


@shared
def group_samples(history: History) -> DataFrame:
    """One row per sample of a group, its text parsed once for all facts about groups.

    Columns: run, node, connection, time, asked, group, type, state, protocol, epoch, assigned_epoch, names (of the
    members, in order), positions (by log).
    """
    return history.sql(f"""
        with parsed as ({_parsed("group_state", GROUP)})
        select run, node, connection, time, asked, value.`group`, value.type, value.state, value.protocol,
            value.epoch, value.assigned_epoch, array_sort(map_keys(value.members)) as names, value.positions
        from parsed
    """)


def _moments(key: str, answered: str, shown: str) -> str:
    """SQL: each row of ``samples`` twice, as an answer when it had arrived, and as a sample when it was asked for.

    key       columns that both have.
    answered  columns that later samples are compared with; null in a sample.
    shown     columns of a sample; null in an answer. Few and narrow ones: all rows are shuffled and sorted.
    """
    return f"""
        select run, node, connection, {key}, inline(array(
            struct(time as at, struct({answered}) as answered, null as sample),
            struct(asked as at, null as answered, struct(time, {shown}) as sample)
        ))
        from samples
    """


@fact(needs=GROUP_STATES)
def group_states(history: History) -> DataFrame:
    """One row per sample of a group.

    Columns: group, node (its coordinator), time (ns, when the answer had arrived), type, state, epoch (of a group of
    the classic protocol its generation, null while it is not known), assigned_epoch (null for such a group), members
    (their number), and newest: the highest epoch that the same process had reported before it was asked; null for
    none.
    """
    shown = "type, state, epoch, assigned_epoch, members"
    return history.sql(
        f"""
        with samples as (
            select *, size(names) as members from {{samples}}
        ), moments as ({_moments("`group`", "epoch", shown)}), ordered as (
            select *, max(answered.epoch) over (partition by run, node, connection, `group` {EARLIER}) as newest
            from moments
        )
        select run, node, `group`, sample.*, newest from ordered where sample is not null
        """,
        samples=group_samples(history),
    )


@fact(needs=GROUP_STATES)
def rebalances(history: History) -> DataFrame:
    """One row per sample of a classic group with its generation, beside the sample before it, of the same process.

    Columns: group, node (its coordinator), time (ns), epoch and earlier (the two generations), members (their
    number); is_same: whether both samples had the same members; is_excused: whether the group moves partitions in
    two steps, or a fault or a change of a topic had begun before. Null: there was no sample before.
    """
    return history.sql(
        f"""
        with following as (
            select *, lag(struct(epoch, names)) over (
                partition by run, node, connection, `group` order by time
            ) as before
            from {{samples}} where type = 'classic' and epoch is not null
        ), changed as (
            select run, min(invoked) as changed_at from {{operations}}
            where process = {NEMESIS} or f = 'alter' group by run
        )
        select run, node, time, `group`, epoch, before.epoch as earlier, size(names) as members,
            names = before.names as is_same,
            coalesce(protocol like 'cooperative%' or changed_at <= time, false) as is_excused
        from following left join changed using (run)
        """,
        samples=group_samples(history),
    )


@fact(needs=GROUP_STATES)
def group_positions(history: History) -> DataFrame:
    """One row per sample and partition with a committed position, of groups with a sample that lacks a position
    of the sample before, or has a lower one. Positions of other groups only grow.

    Columns: group, log (such as ``topic-0``), node (its coordinator), time (ns), position, and farthest: the highest
    position that the same process had reported before it was asked, while the group had the same members and the same
    epoch; null for none.
    """
    shrinks = "exists(map_keys(before), log -> coalesce(positions[log] < before[log], true))"
    return history.sql(
        f"""
        with following as (
            select *, lag(positions) over (
                partition by run, node, connection, `group`, generation order by time
            ) as before
            from (select *, xxhash64(epoch, names) as generation from {{samples}})
        ), shrinking as (
            select *, bool_or(asked > time or {shrinks}) over (
                partition by run, node, connection, `group`, generation
            ) as is_shrinking
            from following
        ), samples as (
            select run, node, connection, time, asked, `group`, generation, explode(positions) as (log, position)
            from shrinking where is_shrinking
        ), moments as ({_moments("`group`, log, generation", "position", "position")}), ordered as (
            select *, max(answered.position) over (
                partition by run, node, connection, `group`, log, generation {EARLIER}
            ) as farthest
            from moments
        )
        select run, node, `group`, log, sample.*, farthest from ordered where sample is not null
        """,
        samples=group_samples(history),
    )


@fact(needs=TRANSACTION_STATES)
def transaction_states(history: History) -> DataFrame:
    """One row per sample of a transactional id.

    Columns: transactional_id, node (its coordinator), time (ns, when the answer had arrived), state, producer_id,
    epoch, step: 0 while the transaction is open, 1 while it ends, 2 once it has ended, null for other states;
    outcome: Commit or Abort, null before; and of what the same process had reported before it was asked, null for
    none: newest, the highest epoch of this producer id; reached, the highest step of this transaction, and
    decided, its outcome. A transaction is identified by its producer id and its start.
    """
    key = "transactional_id, producer_id, started"
    return history.sql(f"""
        with parsed as ({_parsed("transaction", TRANSACTION)}), samples as (
            select run, node, connection, time, asked, value.transactional_id, value.producer_id, value.state,
                value.epoch, nullif(value.started, -1) as started,
                case when value.state = 'Ongoing' then 0 when value.state like 'Prepare%' then 1
                    when value.state like 'Complete%' then 2 end as step,
                case when value.state like '%Commit' then 'Commit' when value.state like '%Abort' then 'Abort' end
                    as outcome
            from parsed
        ), moments as ({_moments(key, "epoch, step, outcome", "state, epoch, step, outcome")}), ordered as (
            select *, max(answered.epoch) over (
                    partition by run, node, connection, transactional_id, producer_id {EARLIER}
                ) as newest,
                if(started is null, null, max(struct(answered.step, answered.outcome)) over (
                    partition by run, node, connection, transactional_id, producer_id, started {EARLIER}
                )) as furthest
            from moments
        )
        select run, node, transactional_id, producer_id, sample.*, newest, furthest.step as reached,
            furthest.outcome as decided
        from ordered where sample is not null
    """)
