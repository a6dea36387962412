"""Collects what is known of users' applications, for the causes of their findings: small jobs, only for such runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Row

from analyzers.causes.application import Application, Commit, Event, Input, Output, Turn
from analyzers.causes.evidence import Extent
from analyzers.facts.pipelines import INPUTS, PIPELINES
from analyzers.history.load import History
from analyzers.spark.statements import sql_literal

ANOMALIES = frozenset({"missing-output", "duplicate-output", "reordered-output"})

MOST = 20_000
"""Inputs, outputs and observations of one run that are collected: those nearest in time to its first finding."""


def applications(history: History, extents: Mapping[str, Sequence[Extent]]) -> dict[str, Application]:
    """By run, of those with such findings."""
    firsts = {
        run: min(
            (each.first for each in of_run if each.anomaly in ANOMALIES and each.first is not None), default=0
        )
        for run, of_run in extents.items()
        if any(each.anomaly in ANOMALIES for each in of_run)
    }
    if not firsts:
        return {}
    confined = history.of_runs(sorted(firsts))
    inputs, outputs, observed = (
        _by_run(confined.sql(_nearest(tables, select, firsts)).collect())
        for tables, select in ((_PIPELINES, _FED), ("", _MADE), ("", _SEEN))
    )
    return {run: application_of(inputs[run], outputs[run], observed[run]) for run in firsts}


def _nearest(tables: str, select: str, firsts: Mapping[str, int]) -> str:
    """tables: common table expressions. select: of rows with run and time."""
    values = ", ".join(f"({sql_literal(run)}, {first}L)" for run, first in sorted(firsts.items()))
    return f"""
        {tables} select * except (rank) from (
            select *, row_number() over (
                partition by run order by abs(coalesce(time, 0) - first_found), time
            ) as rank
            from ({select}) join (select * from values {values} as t (run, first_found)) using (run)
        ) where rank <= {MOST}
    """


def _by_run(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.run].append(row)
    return found


def application_of(inputs: Sequence[Row], outputs: Sequence[Row], observed: Sequence[Row]) -> Application:
    made: dict[int, dict[tuple[int, int], Output]] = defaultdict(dict)
    sinks = {row.sink for row in inputs}
    for row in outputs:
        if row.topic in sinks and row.source is not None:
            output = Output(row.partition, row.offset, row.time, row.producer, row.transactional)
            made[row.source][row.partition, row.offset] = output
    by_log: dict[str, list[Input]] = defaultdict(list)
    for row in sorted(inputs, key=lambda row: row.offset):
        log = f"{row.topic}-{row.partition}"
        of_input = sorted(made[row.value].values(), key=_by_time)
        by_log[log].append(
            Input(log=log, offset=row.offset, fed=row.time, key=row.key, outputs=tuple(of_input))
        )
    commits, turns, events = _observed(sorted(observed, key=lambda row: row.time))
    return Application(
        sink=min(sinks, default=""), inputs=by_log, commits=commits, turns=turns, events=events
    )


def _by_time(output: Output) -> tuple[bool, int, int, int]:
    return output.time is None, output.time or 0, output.partition, output.offset


def _observed(rows: Sequence[Row]) -> tuple[dict[str, list[Commit]], dict[str, list[Turn]], list[Event]]:
    """What the coordinator wrote down counts; where there is none of it, the samples."""
    commits: dict[bool, dict[str, list[Commit]]] = {True: defaultdict(list), False: defaultdict(list)}
    turns: dict[bool, dict[str, list[Turn]]] = {True: defaultdict(list), False: defaultdict(list)}
    events = []
    for row in rows:
        value = json.loads(row.value)
        if row.kind == "application":
            events.append(
                Event(row.time, value["instance"], value["event"], value.get("status"), value.get("line"))
            )
            continue
        log, is_exact = f"{row.topic}-{row.partition}", row.kind == "group_log"
        position, owner = value.get("position"), value.get("owner")
        known, having = commits[is_exact][log], turns[is_exact][log]
        if position is not None and (is_exact or not known or known[-1].position != position):
            known.append(Commit(row.time, position, is_exact, value.get("transaction")))
        if owner is not None and (not having or having[-1][1:] != (owner, value.get("member"))):
            having.append(Turn(row.time, owner, value.get("member")))
    return (
        commits[any(commits[True].values())],
        turns[any(turns[True].values())],
        events,
    )


_PIPELINES = f"with {PIPELINES}, {INPUTS}"

_FED = """
    select /*+ BROADCAST(pipelines) */ run, topic, partition, value, offset, fed as time, key, sink
    from inputs join pipelines using (run, topic, partition) where offset is not null
"""

_MADE = """
    select run, topic, partition, offset, said.source, said.written as time, said.producer, said.transactional from (
        select run, topic, partition, start_offset as offset,
            from_json(value, 'source bigint, written bigint, producer bigint, transactional boolean') as said
        from {operations} where f = 'output'
    )
"""

_SEEN = """
    select run, topic, partition, time, kind, value from {observations}
    where kind in ('group', 'group_log', 'application')
"""
