"""Which records that groups copy may lack a copy or have several, from numbers alone."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from analyzers.facts.columns import POLLED
from analyzers.facts.members import commits, members
from analyzers.history.load import History
from workloads.history.schema import VALUE_BITS

MANY = 1_000
"""Suspicious records from which the fact is computed in full: they are looked up for each record."""

_COPIES = f"""
    with copiers as (
        select /*+ BROADCAST(of) */ distinct run, `group` from {{records}} join {{members}} as of using (run, process)
        where f = 'send' and source is not null
    ), positions as (
        select run, topic, partition, `group`, max(offset) as position
        from {{commits}} left semi join copiers using (run, `group`)
        where type = 'ok' and completed is not null group by run, topic, partition, `group`
    ), kept as (
        select /*+ BROADCAST(positions) */ value, run, `group`, null as copy, false as is_sure
        from {{records}} join positions using (run, topic, partition)
        where final and {POLLED} and offset < position
    ), copies as (
        select /*+ BROADCAST(of) */ source as value, made.run, `group`, value as copy,
            f = 'send' or committed as is_sure
        from {{records}} as made join {{members}} as of
            on made.run = of.run and of.process = cast(shiftright(value, {VALUE_BITS}) as int)
        where source is not null and (f = 'send' and type = 'ok' or {POLLED})
    )
    select value, run, `group`
    from (select * from kept union all select * from copies)
    group by value, run, `group`
    having not bool_or(coalesce(is_sure, false)) or min(copy) < max(copy)
"""


def suspicious_records(history: History) -> DataFrame:
    """Columns: value, run, group. The records below the position of a group that a final read found, if no copy is
    surely readable; and records with several copies that may be readable."""
    return history.records.sparkSession.sql(
        _COPIES, records=history.records, members=members(history), commits=commits(history)
    )


def of_suspicious_copies(history: History) -> History | None:
    """The part of the history with suspicious records and their copies; None: there are none. One Spark job."""
    rows = suspicious_records(history).limit(MANY + 1).collect()
    if not rows:
        return None
    if len(rows) > MANY:
        return history
    found = ", ".join(f"{value}L" for value in sorted({row.value for row in rows}))
    return replace(
        history.of_runs({row.run for row in rows}),
        value_filter=f"value in ({found})",
        source_filter=f"source in ({found})",
    )
