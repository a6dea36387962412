"""Definitions of the anomalies of an application's outputs in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.oracles.rows import Oracle, Row, Tables, intact, is_withheld, log, polls, sends
from tests.support.random_histories.pipelines import pipeline_history


class Input(NamedTuple):
    value: int
    offsets: set[int]
    key: Any


class Made(NamedTuple):
    partition: int
    offset: int
    value: int | None


def pipelines(tables: Tables) -> list[Row]:
    rows = [o for o in tables["operations"] if o["f"] == "pipeline" and o["type"] == "ok"]
    return [row | json.loads(row["value"]) for row in rows]


def outputs(tables: Tables, sink: str) -> set[Made]:
    rows = [o for o in tables["operations"] if o["f"] == "output" and o["topic"] == sink]
    return {Made(o["partition"], o["start_offset"], json.loads(o["value"])["source"]) for o in rows}


def inputs(tables: Tables, of: Row) -> Iterator[Input]:
    """Those that the final read found in the log."""
    found: dict[int, set[int]] = {}
    for row in intact(polls(tables["records"])):
        if row["final"] and log(row) == log(of):
            found.setdefault(row["value"], set()).add(row["offset"])
    for value, offsets in found.items():
        keys = {
            row.get("key")
            for row in tables["records"]
            if row["value"] == value and row.get("key") is not None
        }
        yield Input(value, offsets, max(keys, default=None))


def of_input(tables: Tables, pipeline: Row, value: int) -> list[Made]:
    return [made for made in outputs(tables, pipeline["sink"]) if made.value == value]


def has_passed(tables: Tables, pipeline: Row, one: Input) -> bool:
    position = pipeline.get("end_offset")
    if position is None:
        reached = [
            min(each.offsets) for each in inputs(tables, pipeline) if of_input(tables, pipeline, each.value)
        ]
        position = max(reached, default=0)
    return min(one.offsets) < position


def without_output(tables: Tables) -> Iterator[tuple[Row, Input]]:
    for pipeline in pipelines(tables):
        for one in inputs(tables, pipeline):
            if not of_input(tables, pipeline, one.value) and not is_withheld(tables, pipeline, one.value):
                yield pipeline, one


def missing(tables: Tables) -> int:
    return sum(
        has_passed(tables, pipeline, one)
        for pipeline, one in without_output(tables)
        if pipeline["guarantee"] not in ("at-most-once", "aggregate")
    )


def unprocessed(tables: Tables) -> int:
    return sum(not has_passed(tables, *each) for each in without_output(tables))


def repeated(tables: Tables) -> int:
    return sum(
        len(of_input(tables, pipeline, one.value)) > 1
        for pipeline in pipelines(tables)
        if pipeline["guarantee"] in ("exactly-once", "at-most-once")
        for one in inputs(tables, pipeline)
        if len(one.offsets) == 1
    )


def firsts(tables: Tables, pipeline: Row, value: int) -> dict[int, int]:
    """Partition of the sink to the offset of the first output there."""
    found: dict[int, int] = {}
    for made in of_input(tables, pipeline, value):
        found[made.partition] = min(made.offset, found.get(made.partition, made.offset))
    return found


def reordered(tables: Tables) -> int:
    broken = 0
    for pipeline in pipelines(tables):
        if pipeline["guarantee"] != "order-per-key":
            continue
        every = [one for one in inputs(tables, pipeline) if one.key is not None]
        placed = {one.value: firsts(tables, pipeline, one.value) for one in every}
        for one in every:
            broken += sum(
                any(
                    other.key == one.key
                    and min(other.offsets) > min(one.offsets)
                    and placed[other.value].get(partition, at) < at
                    for other in every
                )
                for partition, at in placed[one.value].items()
            )
    return broken


def invented(tables: Tables) -> int:
    broken = 0
    for sink in {pipeline["sink"] for pipeline in pipelines(tables)}:
        logs = {log(pipeline) for pipeline in pipelines(tables) if pipeline["sink"] == sink}
        fed = {row["value"] for row in sends(tables["records"]) if log(row) in logs}
        strange = {(made.partition, made.offset) for made in outputs(tables, sink) if made.value not in fed}
        broken += len(strange)
    return broken


def wrong(tables: Tables) -> int:
    judged = [o for o in tables["operations"] if o["f"] == "aggregate" and o["type"] == "ok"]
    return sum(json.loads(o["value"])["wrong"] is not None for o in judged)


STANDSTILL = 25
"""ns. The histories last some hundred."""


class Waiting(NamedTuple):
    acked: int
    answered: int


def waiting(tables: Tables, pipeline: Row) -> Iterator[Waiting]:
    """The inputs of its log that were acknowledged, each until it was answered, or until the end; those that it
    passed without an answer do not wait."""
    is_timed = has_times(tables)
    for row in acknowledged(tables, pipeline):
        answered = (
            written(tables, pipeline, row["value"])
            if is_timed
            else passed_at(tables, pipeline, row["offset"])
        )
        if answered is None and row["offset"] >= (pipeline["end_offset"] or 0):
            answered = pipeline["invoked"]
        if answered is not None:
            yield Waiting(row["completed"], answered)


def acknowledged(tables: Tables, pipeline: Row) -> list[Row]:
    return [row for row in sends(tables["records"]) if log(row) == log(pipeline) and row["type"] == "ok"]


def written(tables: Tables, pipeline: Row, value: int) -> int | None:
    rows = [json.loads(o["value"]) for o in tables["operations"] if is_output(o, pipeline["sink"])]
    return min(
        (o["written"] for o in rows if o["source"] == value and o["written"] is not None), default=None
    )


def is_output(row: Row, sink: str) -> bool:
    return bool(row["f"] == "output" and row["topic"] == sink)


def passed_at(tables: Tables, pipeline: Row, offset: int) -> int | None:
    samples = [o for o in tables["observations"] if o["kind"] == "group" and log(o) == log(pipeline)]
    return min(
        (o["time"] for o in samples if (json.loads(o["value"])["position"] or 0) > offset), default=None
    )


def has_times(tables: Tables) -> bool:
    """Whether half of the outputs at least were written after their inputs were acknowledged."""
    times = [
        (at, row["completed"])
        for pipeline in pipelines(tables)
        for row in acknowledged(tables, pipeline)
        if (at := written(tables, pipeline, row["value"])) is not None
    ]
    return bool(times) and 2 * sum(at >= acked for at, acked in times) >= len(times)


def standstills(tables: Tables) -> int:
    """Walks through time by the nanosecond."""
    broken = 0
    for pipeline in pipelines(tables):
        inputs_there = list(waiting(tables, pipeline))
        lasted = 0
        for now in range(max((one.answered for one in inputs_there), default=0) + 2):
            if any(one.answered == now for one in inputs_there):
                broken += lasted > STANDSTILL
                lasted = 0
            lasted += any(one.acked <= now < one.answered for one in inputs_there)
    return broken


RANDOM = pipeline_history
ORACLES: dict[str, Oracle] = {
    "missing-output": missing,
    "unprocessed-input": unprocessed,
    "duplicate-output": repeated,
    "reordered-output": reordered,
    "wrong-aggregate": wrong,
    "invented-output": invented,
    "standstill": standstills,
}
