"""Per sample of a coordinator: the states of groups and transactions, and what it had reported of them before."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.facts.fact import GROUP_STATES, TRANSACTION_STATES, fact
from analyzers.history.load import History
from workloads.history.schema import NEMESIS

GROUP = (
    "`group` string, type string, state string, protocol string, epoch int, assigned_epoch int, "
    "members map<string, array<string>>, positions map<string, bigint>"
)

TRANSACTION = "transactional_id string, state string, producer_id bigint, epoch int, started bigint"

MOMENTS = """
    select run, node, connection, inline(array(
        struct(time as at, value as answered, null as sample),
        struct(asked as at, null as answered, struct(time, value) as sample)
    ))
    from parsed
"""
"""Each sample twice: as an answer when it had arrived, and as a sample when it was asked for."""

EARLIER = "order by at range between unbounded preceding and 1 preceding"


def _parsed(kind: str, columns: str) -> str:
    return f"""
        select run, node, connection, time, asked, from_json(value, '{columns}') as value
        from {{observations}} where kind = '{kind}' and connection is not null
    """


@fact(needs=GROUP_STATES)
def group_states(history: History) -> DataFrame:
    """One row per sample of a group.

    Columns: group, node (its coordinator), time (ns, when the answer had arrived), type, state, epoch (of a group of
    the classic protocol its generation, null while it is not known), assigned_epoch (null for such a group), members
    (their number), and newest: the highest epoch that the same process had reported before it was asked; null for
    none.
    """
    return history.sql(f"""
        with parsed as ({_parsed("group_state", GROUP)}), moments as ({MOMENTS}), ordered as (
            select *, max(answered.epoch) over (
                partition by run, node, connection, coalesce(answered.`group`, sample.value.`group`) {EARLIER}
            ) as newest
            from moments
        )
        select run, node, sample.time, sample.value.`group`, sample.value.type, sample.value.state,
            sample.value.epoch, sample.value.assigned_epoch, size(sample.value.members) as members, newest
        from ordered where sample is not null
    """)


@fact(needs=GROUP_STATES)
def rebalances(history: History) -> DataFrame:
    """One row per sample of a classic group with its generation, beside the sample before it, of the same process.

    Columns: group, node (its coordinator), time (ns), epoch and earlier (the two generations), members (their
    number); is_same: whether both samples had the same members; is_excused: whether the group moves partitions in
    two steps, or a fault or a change of a topic had begun before. Null: there was no sample before.
    """
    return history.sql(f"""
        with parsed as ({_parsed("group_state", GROUP)}), known as (
            select run, node, connection, time, value, array_sort(map_keys(value.members)) as members
            from parsed where value.type = 'classic' and value.epoch is not null
        ), following as (
            select *, lag(struct(value.epoch, members)) over (
                partition by run, node, connection, value.`group` order by time
            ) as before
            from known
        ), changed as (
            select run, min(invoked) as changed_at from {{operations}}
            where process = {NEMESIS} or f = 'alter' group by run
        )
        select run, node, time, value.`group`, value.epoch, before.epoch as earlier, size(members) as members,
            members = before.members as is_same,
            coalesce(value.protocol like 'cooperative%' or changed_at <= time, false) as is_excused
        from following left join changed using (run)
    """)


@fact(needs=GROUP_STATES)
def group_positions(history: History) -> DataFrame:
    """One row per sample of a group and partition with a committed position.

    Columns: group, log (such as ``topic-0``), node (its coordinator), time (ns), position, and farthest: the highest
    position that the same process had reported before it was asked, while the group had the same members and the same
    epoch; null for none.
    """
    return history.sql(f"""
        with samples as ({_parsed("group_state", GROUP)}), parsed as (
            select run, node, connection, time, asked, inline(transform(map_entries(value.positions), entry -> struct(
                named_struct(
                    'group', value.`group`, 'log', entry.key, 'position', entry.value,
                    'generation', struct(value.epoch, array_sort(map_keys(value.members)))
                ) as value
            )))
            from samples
        ), moments as ({MOMENTS}), keyed as (
            select *, coalesce(answered, sample.value) as one from moments
        ), ordered as (
            select *, max(answered.position) over (
                partition by run, node, connection, one.`group`, one.log, one.generation {EARLIER}
            ) as farthest
            from keyed
        )
        select run, node, sample.time, one.`group`, one.log, one.position, farthest
        from ordered where sample is not null
    """)


@fact(needs=TRANSACTION_STATES)
def transaction_states(history: History) -> DataFrame:
    """One row per sample of a transactional id.

    Columns: transactional_id, node (its coordinator), time (ns, when the answer had arrived), state, producer_id,
    epoch, step: 0 while the transaction is open, 1 while it ends, 2 once it has ended, null for other states;
    outcome: Commit or Abort, null before; and of what the same process had reported before it was asked, null for
    none: newest, the highest epoch of this producer id; reached, the highest step of this transaction, and
    decided, its outcome. A transaction is identified by its producer id and its start.
    """
    return history.sql(f"""
        with samples as ({_parsed("transaction", TRANSACTION)}), parsed as (
            select run, node, connection, time, asked, named_struct(
                'transactional_id', value.transactional_id, 'state', value.state, 'producer_id', value.producer_id,
                'epoch', value.epoch, 'started', nullif(value.started, -1),
                'step', case when value.state = 'Ongoing' then 0 when value.state like 'Prepare%' then 1
                    when value.state like 'Complete%' then 2 end,
                'outcome', nullif(regexp_extract(value.state, '(Commit|Abort)$', 1), '')
            ) as value
            from samples
        ), moments as ({MOMENTS}), keyed as (
            select *, coalesce(answered, sample.value) as one from moments
        ), ordered as (
            select *, max(answered.epoch) over (
                    partition by run, node, connection, one.transactional_id, one.producer_id {EARLIER}
                ) as newest,
                if(one.started is null, null, max(struct(answered.step, answered.outcome)) over (
                    partition by run, node, connection, one.transactional_id, one.producer_id, one.started {EARLIER}
                )) as furthest
            from keyed
        )
        select run, node, sample.time, one.transactional_id, one.state, one.producer_id, one.epoch, one.step,
            one.outcome, newest, furthest.step as reached, furthest.outcome as decided
        from ordered where sample is not null
    """)
