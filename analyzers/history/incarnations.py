"""Cuts the history of a topic that was deleted and created again into one log for each of its incarnations.

Such a topic keeps its name, but is another log: its records are gone, and offsets and leader epochs start again. Its
later incarnations are named ``topic@2``, ``topic@3`` and so on. An operation belongs to an incarnation if its whole
span lies outside of the time in which the topic was deleted and created, until all brokers knew the new topic. Of
other operations the incarnation is unknown: polls, reads and samples are left out, and a send becomes one of unknown
outcome in each incarnation in which its record may be.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.history.fault_events import RECREATE
from analyzers.history.load import History
from analyzers.history.sources import Source
from analyzers.spark.statements import sql_literal
from workloads.history.schema import NEMESIS

FOREVER = (1 << 63) - 1

COLUMNS = ["run", "process", "f", "type", "topic", "invoked", "completed", "value"]

FAULT_DELETES = (
    f"(process = {NEMESIS} and get_json_object(value, '$.removes_records') = 'true' "
    "and get_json_object(value, '$.evidence.partition') is not null)"
)
"""A fault removed records of one log, which its evidence names."""

DELETES = f"(f = 'deletion' or {FAULT_DELETES})"
"""Records of one log were removed, or may have been: by a fault, or by an administrator."""

Cuts = Mapping[tuple[str, str], tuple[tuple[int, int], ...]]
"""By run and topic: from the request to delete it until all brokers knew the new topic (ns), in order of time."""


class Change(NamedTuple):
    """A row of `COLUMNS` that tells about the deletion or the creation of a topic."""

    run: str
    process: int
    f: str
    type: str
    topic: str | None
    invoked: int
    completed: int | None
    value: str | None


def topic_changes(history: History, runs: Sequence[Source]) -> list[Change]:
    """The recorded changes of topics, in order of time. Reads local files without Spark: there are few rows."""
    names = ["topic", "alter", RECREATE]
    if (here := history.loaded.operations_here) is not None:
        of_topics = pc.is_in(here["f"], pa.array(names))
        rows = [Change(**row) for row in here.filter(of_topics).select(COLUMNS).to_pylist()]
    elif all(run.local for run in runs):
        rows = [
            Change(**row)
            for run in runs
            for file in run.files["operations"]
            for row in pq.read_table(
                file, columns=COLUMNS, filters=[("f", "in", names)], partitioning=None
            ).to_pylist()
        ]
    else:
        of_topics = history.operations.where(F.col("f").isin(names)).select(*COLUMNS)
        rows = [Change(**row.asDict()) for row in of_topics.collect()]
    return sorted(rows, key=lambda row: (row.run, row.invoked, row.completed or FOREVER))


def recreated(changes: Iterable[Change]) -> set[str]:
    """The runs in which a topic was created again, or may have been deleted by an administrator."""
    return {each.run for each in changes if _event(each) in ("recreated", "delete")}


def _event(change: Change) -> str | None:
    """Of the harness: created, deleted, recreated. Of an administrator: create, delete; None for other changes."""
    if change.f == "topic":
        return str(json.loads(change.value or "{}").get("event"))
    if change.f != "alter" or change.type == "fail":
        return None
    asked = json.loads(change.value or "{}").get("change")
    return asked if asked in ("create", "delete") else None


def cuts(rows: Sequence[Change], *, is_complete: bool = True) -> Cuts:
    """The recreations among these changes.

    is_complete  whether the history has ended. Otherwise a topic that was deleted may be created again, and the fault
                 that did it is recorded only when all brokers know the new topic: until then, the end is unknown.
    """
    deleted: dict[tuple[str, str], int] = {}
    found = _administered(rows, is_complete=is_complete)
    for row in rows:
        if row.f != "topic" or row.topic is None:
            continue
        event, log = _event(row), (row.run, row.topic)
        if event == "deleted":
            deleted[log] = row.invoked
        elif event == "recreated":
            faults = [_verified(fault) for fault in rows if _caused(fault, row)]
            known = max([_end(row), *faults]) if faults or is_complete else FOREVER
            found.setdefault(log, []).append((deleted.pop(log, row.invoked), known))
    if not is_complete:
        for log, since in deleted.items():
            found.setdefault(log, []).append((since, FOREVER))
    return {log: tuple(sorted(spans)) for log, spans in found.items()}


def _administered(
    rows: Sequence[Change], *, is_complete: bool
) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """The deletions that administrators requested and that certainly took place.

    One that was acknowledged is over then, or when a later creation was. One of unknown outcome took place if the
    topic could be created afterwards.
    """
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    events = [(row, _event(row)) for row in rows if row.f == "alter" and row.topic is not None]
    for place, (row, event) in enumerate(events):
        if event != "delete":
            continue
        later = [each for each in events[place + 1 :] if (each[0].run, each[0].topic) == (row.run, row.topic)]
        following = next(
            (each for each in later if each[1] in ("create", "delete") and each[0].type == "ok"), None
        )
        if following is not None and following[1] == "create":
            until = _end(following[0])
        elif not is_complete:
            until = FOREVER
        elif row.type == "ok":
            until = _end(row)
        else:
            continue
        found.setdefault((row.run, str(row.topic)), []).append((row.invoked, until))
    return found


def _caused(fault: Change, creation: Change) -> bool:
    is_of_it = fault.f == RECREATE and fault.process == NEMESIS and fault.run == creation.run
    is_injection = is_of_it and json.loads(fault.value or "{}").get("stage") == "inject"
    return is_injection and fault.invoked <= creation.invoked <= _end(fault)


def _verified(fault: Change) -> int:
    """When all brokers knew the new topic; `FOREVER` if that was not seen."""
    return _end(fault) if json.loads(fault.value or "{}").get("effective") is True else FOREVER


def _end(row: Change) -> int:
    return FOREVER if row.completed is None else row.completed


def by_incarnation(history: History, of: Cuts) -> History:
    """The history with one log for each incarnation. Runs without recreations are left as they are."""
    of = _with_rows(history, of) if of else of
    if not of:
        return history
    runs = sorted({run for run, _ in of})

    def changed(rows: DataFrame, change: Any) -> DataFrame:
        affected = F.col("run").isin(runs)
        # Computed once. Otherwise the plan of each fact would contain these steps again for each table that it reads.
        cut = change(rows.where(affected), of).localCheckpoint()
        both = rows.where(~affected).unionByName(cut)
        return both.coalesce(1) if history.in_one_piece else both

    return replace(
        history,
        records=changed(history.records, _records),
        operations=changed(history.operations, _operations),
        observations=changed(history.observations, _observations),
        loaded=replace(history.loaded, directories=None),
    )


def _with_rows(history: History, of: Cuts) -> Cuts:
    """Those of topics that clients used or brokers described. Administrators make topics that nobody uses."""
    topics = sorted({topic for _, topic in of})
    named = [
        rows.where(F.col("topic").isin(topics)).select("run", "topic")
        for rows in (history.records, history.observations)
    ]
    used = {(row.run, row.topic) for row in named[0].unionByName(named[1]).distinct().collect()}
    return {log: spans for log, spans in of.items() if log in used}


def _records(rows: DataFrame, of: Cuts) -> DataFrame:
    polled = "f = 'poll'"
    placed = _placed(
        rows,
        of,
        first=f"if({polled}, least(invoked, fetched), invoked)",
        last=f"if({polled}, coalesce(fetched, completed, invoked), coalesce(completed, {FOREVER}))",
    )
    # `previous` is the offset of the record before it, which may be of another incarnation.
    line = Window.partitionBy("run", "process", "f", "topic", "partition", "assignment", "generation")
    before = line.orderBy("index").rowsBetween(Window.unboundedPreceding, -1)
    counts = f"if(offset is not null and ({polled} or type = 'ok'), struct(low, high), null)"
    same = "coalesce(before.low = low and before.high = high and low = high, false)"
    unclear = "f = 'send' and low < high"
    return _named(
        placed.withColumn("before", F.last(F.expr(counts), ignorenulls=True).over(before))
        .withColumn("previous", F.expr(f"if({same}, previous, null)"))
        .withColumn("within", F.expr(f"if({same}, within, null)"))
        .where(f"{unclear} or low = high")
        .withColumn("offset", F.expr(f"if({unclear}, null, offset)"))
        .withColumn("type", F.expr(f"if({unclear} and type = 'ok', 'info', type)")),
        rows.columns,
    )


def _operations(rows: DataFrame, of: Cuts) -> DataFrame:
    named = rows.withColumn(
        "topic", F.expr(f"if({FAULT_DELETES}, get_json_object(value, '$.evidence.topic'), topic)")
    )
    placed = _placed(named, of, first="invoked", last=f"coalesce(completed, {FOREVER})")
    # The settings of a topic are those of the incarnation that its deletion ends, or that its creation begins.
    event = (
        "case f when 'topic' then coalesce(get_json_object(value, '$.event'), '') "
        "when 'alter' then get_json_object(value, '$.change') when 'inspect' then '' end"
    )
    settled = placed.withColumn("event", F.expr(event)).withColumns({
        "low": F.expr("if(event in ('recreated', 'create'), high, low)"),
        # Other changes of settings, and what brokers say of them, count for all incarnations.
        "high": F.expr("if(event = 'deleted' or f in ('alter', 'inspect') and event <> 'create', low, high)"),
    })  # fmt: skip
    return _named(settled.where(f"low = high or {DELETES}"), rows.columns)


def _observations(rows: DataFrame, of: Cuts) -> DataFrame:
    placed = _placed(rows, of, first="coalesce(asked, time)", last="time")
    return _named(placed.where("low = high"), rows.columns)


def _placed(rows: DataFrame, of: Cuts, *, first: str, last: str) -> DataFrame:
    """With the first and the last incarnation to which a row may belong, from 0: low, high."""
    spans = rows.sparkSession.sql(f"select * from values {', '.join(_literals(of))} as t (run, topic, cuts)")
    return (
        rows.join(F.broadcast(spans), ["run", "topic"], "left")
        .withColumn("first", F.expr(first))
        .withColumn("last", F.expr(last))
        .withColumn("low", F.expr("if(cuts is null, 0, size(filter(cuts, c -> c.until < first)))"))
        .withColumn("high", F.expr("if(cuts is null, 0, size(filter(cuts, c -> c.since <= last)))"))
    )


def _named(rows: DataFrame, columns: Iterable[str]) -> DataFrame:
    """One row for each incarnation to which it may belong, with its name as the topic."""
    return (
        rows.withColumn("number", F.explode(F.expr("sequence(low, high)")))
        .withColumn("topic", F.expr("if(number = 0, topic, concat(topic, '@', number + 1))"))
        .select(*columns)
    )


def _literals(of: Cuts) -> Iterable[str]:
    for (run, topic), spans in sorted(of.items()):
        pieces = ", ".join(f"named_struct('since', {since}L, 'until', {until}L)" for since, until in spans)
        yield f"({sql_literal(run)}, {sql_literal(topic)}, array({pieces}))"
