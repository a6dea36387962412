"""Which groups and transactional ids may break a promise of coordinators, from each answer and those before it.

A fact compares an answer with all that had arrived before it was requested, partition by partition. Here it is
compared with all earlier ones at once, and positions only with those of the answer directly before: if no position is
lower than there, and none is missing, none is lower than any earlier one. So an answer is parsed once, no row is made
for each partition, and the facts look only at the answers of a suspicious group or id.

An answer that arrived in between, or before a change of the members, is compared too much. So a group may be
suspected too much, never too little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_

from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from analyzers.checks.coordinators import GROUP_STATE_CONFLICT
from analyzers.facts.coordinators import GROUP, TRANSACTION
from analyzers.history.load import History

MANY = 1_000
"""Suspects from which the facts are computed in full: they are collected."""

MANY_NAMES = 20
"""Names from which the answers are selected by their process only: each name is looked up in each answer."""

PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
"""A name that JSON always writes in the same way."""

LATE = "asked > time"
"""SQL: an answer with such times may be compared with later ones."""

TIED = "time = last_time"
"""SQL: which of the two answers is the one before is not known."""

Suspicions = Mapping[str, Mapping[str, str]]
"""By fact and check: a condition of each answer in which the check finds something."""

OF_GROUPS: Suspicions = {
    "group_states": {
        "group-state-conflict": GROUP_STATE_CONFLICT.where,
        "group-epoch-regression": f"epoch < newest or {LATE}",
    },
    "rebalances": {
        "unexplained-rebalance": (
            "generation.epoch = last_generation.epoch + 1 "
            "and sort_array(generation.names) = sort_array(last_generation.names) "
            f"and not coalesce(protocol like 'cooperative%', false) or {TIED}"
        ),
    },
    "group_positions": {
        "position-regression": (
            "exists(map_keys(last_positions), log -> coalesce(positions[log] < last_positions[log], true)) "
            f"or {LATE}"
        ),
    },
}
"""Columns: those of `group_states`, but newest is the highest epoch of all answers before, and: protocol, positions,
generation (epoch and names of the members, null unless the group is of the classic protocol and has an epoch). The
positions and the time of the answer before, and the generation of the last one that had one, begin with ``last_``."""

OF_TRANSACTIONS: Suspicions = {
    "transaction_states": {
        "transaction-state-regression": (
            "started < furthest.started or started = furthest.started "
            f"and (step < furthest.step or outcome <> furthest.outcome) or {LATE}"
        ),
        "producer-epoch-regression": f"epoch < newest or {LATE}",
    },
}
"""Columns: those of `transaction_states`, but newest is the highest epoch of all answers before, and: furthest, the
highest started, step and outcome of all answers before about the same producer id. A transaction that began before
one that was reported earlier is suspicious, so that one comparison is enough."""

_BEFORE = "order by time rows between unbounded preceding and 1 preceding"

_GROUPS = f"""
    with samples as (
        select run, node, connection, time, asked, from_json(value, '{GROUP}') as value
        from {{observations}} where kind = 'group_state' and connection is not null
    ), answers as (
        select run, node, connection, time, asked, value.`group` as name, value.type, value.state, value.protocol,
            value.epoch, value.assigned_epoch, size(value.members) as members, value.positions,
            if(value.type = 'classic' and value.epoch is not null,
                named_struct('epoch', value.epoch, 'names', map_keys(value.members)), null) as generation
        from samples
    ), following as (
        select *, max(epoch) over earlier as newest, last(generation, true) over earlier as last_generation,
            last(positions) over earlier as last_positions, last(time) over earlier as last_time
        from answers window earlier as (partition by run, node, connection, name {_BEFORE})
    )
"""

_TRANSACTIONS = f"""
    with samples as (
        select run, node, connection, time, asked, from_json(value, '{TRANSACTION}') as value
        from {{observations}} where kind = 'transaction' and connection is not null
    ), answers as (
        select run, node, connection, time, asked, value.transactional_id as name, value.producer_id, value.epoch,
            nullif(value.started, -1) as started, case when value.state = 'Ongoing' then 0
                when value.state like 'Prepare%' then 1 when value.state like 'Complete%' then 2 end as step,
            case when value.state like '%Commit%' then 'Commit' when value.state like '%Abort%' then 'Abort' end
                as outcome
        from samples
    ), following as (
        select *, max(epoch) over earlier as newest,
            max(if(started is null, null, struct(started, step, outcome))) over earlier as furthest
        from answers window earlier as (partition by run, node, connection, name, producer_id {_BEFORE})
    )
"""


@dataclass(frozen=True, kw_only=True)
class Coordinated:
    kind: str
    """Of the observations."""
    answers: str
    suspicions: Suspicions


GROUPS = Coordinated(kind="group_state", answers=_GROUPS, suspicions=OF_GROUPS)
IDS = Coordinated(kind="transaction", answers=_TRANSACTIONS, suspicions=OF_TRANSACTIONS)


def suspects(coordinated: Coordinated, suspicions: Suspicions | None = None) -> str:
    """SQL: the processes and names of which some answer is suspicious. Columns: run, node, connection, name; and by
    fact whether it is."""
    by_fact = coordinated.suspicions if suspicions is None else suspicions
    conditions = {
        fact: " or ".join(f"coalesce({each}, false)" for each in of_fact.values())
        for fact, of_fact in by_fact.items()
    }
    flags = ", ".join(f"bool_or({condition}) as {fact}" for fact, condition in conditions.items())
    return f"""{coordinated.answers}
        select run, node, connection, name, {flags} from following where {" or ".join(conditions.values())}
        group by run, node, connection, name limit {MANY + 1}
    """


def of_suspicious_answers(history: History, *, fact: str, coordinated: Coordinated) -> History | None:
    """The part of the history with the answers of suspicious processes about suspicious names; None: there are none.
    One Spark job for all facts about groups, and one for those about transactional ids."""
    rows = history.shared_result(suspects(coordinated))
    if len(rows) > MANY:
        return history
    suspicious = [row for row in rows if row[fact]]
    if not suspicious:
        return None
    part = history.of_runs({row.run for row in suspicious})
    selected = F.col("connection").isin(sorted({row.connection for row in suspicious})) & _names_one_of(
        suspicious
    )
    return replace(part, observations=part.observations.where((F.col("kind") != coordinated.kind) | selected))


def _names_one_of(rows: Sequence[Row]) -> Column:
    """Whether the JSON text of an answer may have one of the names; some escape other characters."""
    names = sorted({row.name for row in rows if row.name is not None})
    are_plain = all(row.name is not None and PLAIN_NAME.fullmatch(row.name) for row in rows)
    if not are_plain or len(names) > MANY_NAMES:
        return F.lit(True)
    return reduce(or_, (F.col("value").contains(f'"{name}"') for name in names))


PARTS: Mapping[str, Callable[[History], History | None]] = {
    fact: partial(of_suspicious_answers, fact=fact, coordinated=coordinated)
    for coordinated in (GROUPS, IDS)
    for fact in coordinated.suspicions
}
"""By fact: the part of a history that it needs; None: it finds nothing."""
