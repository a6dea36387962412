"""How many sends and polls there were by bucket, log, process, outcome and class of latency.

A few thousand cells, from which throughput and latency follow for every choice of the page's filters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pytest_kafkacheck.report.axis import NANOSECONDS
from pytest_kafkacheck.report.run_data import RunData

OUTCOMES = ("ok", "info", "fail", "polled")
"""Of a cell. Final reads are not counted: they come after the load."""

STEPS = 4
"""Classes of latency in each doubling, so that a class is at most 19 % wide."""

FASTEST = 1 / 16
"""ms: the upper bound of the first class."""

CLASSES = 127
"""Class 0 is a cell without latency."""

BITS = {"bucket": 12, "log": 20, "process": 20, "outcome": 2, "latency": 7}
"""Of the key of a cell, which fits into an int64: one column is counted several times as fast as five."""

FINER = 8
"""Buckets of throughput for each bucket of the axis, for a view of a part of the run."""

COLUMNS = ("f", "type", "final", "topic", "partition", "process", "invoked", "completed", "intended")


class Cell(NamedTuple):
    bucket: int
    log: int
    """Position in `Cube.logs`."""
    process: int
    outcome: int
    """Position in `OUTCOMES`."""
    latency: int
    """Class, see `latency_of`."""
    total: int


@dataclass(frozen=True, kw_only=True)
class Cube:
    cells: tuple[Cell, ...]
    logs: tuple[tuple[str, int], ...]
    fine: dict[str, list[int]]
    """By outcome: count of each of `FINER` buckets for each of the axis."""

    def per_bucket(self, outcome: str, buckets: int) -> list[int]:
        """Count of each bucket."""
        wanted, counts = OUTCOMES.index(outcome), [0] * buckets
        for cell in self.cells:
            if cell.outcome == wanted:
                counts[cell.bucket] += cell.total
        return counts

    @cached_property
    def active(self) -> dict[int, dict[int, int]]:
        """By process: count of each bucket in which it did anything."""
        found: dict[int, dict[int, int]] = {}
        for cell in self.cells:
            counts = found.setdefault(cell.process, {})
            counts[cell.bucket] = counts.get(cell.bucket, 0) + cell.total
        return found


def latency_of(number: int) -> float:
    """The upper bound of a class, ms."""
    return float(FASTEST * 2 ** ((number - 1) / STEPS))


def cube(run: RunData) -> Cube:
    """Acknowledged sends count when they were acknowledged, others when they were invoked."""
    keys, fine = [], []
    for records in run.record_batches(COLUMNS):
        is_poll = pc.equal(records["f"], "poll")
        records = records.filter(
            pc.invert(pc.and_(is_poll, pc.fill_null(records["final"], False)))
        ).combine_chunks()
        outcomes = _outcomes(records)
        is_done = pc.and_(pc.is_in(outcomes, pa.array([0, 3])), pc.is_valid(records["completed"]))
        times = pc.if_else(is_done, records["completed"], records["invoked"])
        keys.append(pc.value_counts(_key(run, records, outcomes, times)))
        narrow = run.axis.bucket(times, FINER).cast(pa.int64())
        fine.append(pc.value_counts(_joined(narrow, outcomes, BITS["outcome"])))
    width = _width(run)
    topics = _topics(run)
    index = {log: number for number, log in enumerate(run.logs)}
    cells = []
    for key, total in _summed(keys):
        parts = dict(_parts(key))
        parts["log"] = index[topics[parts["log"] // width], parts["log"] % width]
        cells.append(Cell(**parts, total=total))
    by_outcome = {each: [0] * (run.axis.buckets * FINER) for each in OUTCOMES}
    for key, total in _summed(fine):
        by_outcome[OUTCOMES[key & 3]][key >> BITS["outcome"]] = total
    return Cube(cells=tuple(sorted(cells)), logs=run.logs, fine=by_outcome)


def _topics(run: RunData) -> list[str]:
    return sorted({topic for topic, _ in run.logs})


def _width(run: RunData) -> int:
    """Numbers that each topic has for its partitions."""
    return max((partition for _, partition in run.logs), default=0) + 1


def _summed(counts: list[pa.StructArray]) -> Iterator[tuple[int, int]]:
    """Key and total, of the counts of batches."""
    if not counts:
        return
    whole = pa.concat_arrays(counts)
    table = pa.table({"key": whole.field("values"), "total": whole.field("counts")})
    for row in table.group_by("key").aggregate([("total", "sum")]).to_pylist():
        yield row["key"], row["total_sum"]


def _outcomes(records: pa.Table) -> pa.ChunkedArray:
    """Positions in `OUTCOMES`."""
    of_sends = pc.if_else(
        pc.equal(records["type"], "ok"), 0, pc.if_else(pc.equal(records["type"], "fail"), 2, 1)
    )
    return pc.if_else(pc.equal(records["f"], "poll"), 3, of_sends).cast(pa.int64())


def _key(
    run: RunData, records: pa.Table, outcomes: pa.ChunkedArray, times: pa.ChunkedArray
) -> pa.ChunkedArray:
    topics = pc.index_in(records["topic"], pa.array(_topics(run), pa.string())).cast(pa.int64())
    log = pc.add(pc.multiply(topics, _width(run)), records["partition"].cast(pa.int64()))
    classes = pc.if_else(pc.equal(outcomes, 3), 0, latency_class(latency(records)))
    key = run.axis.bucket(times).cast(pa.int64())
    for name, column in (
        ("log", log),
        ("process", records["process"]),
        ("outcome", outcomes),
        ("latency", classes),
    ):
        key = _joined(key, column.cast(pa.int64()), BITS[name])
    return key


def _joined(key: pa.ChunkedArray, part: pa.ChunkedArray, bits: int) -> pa.ChunkedArray:
    return pc.bit_wise_or(pc.shift_left(key, bits), part)


def _parts(key: int) -> Iterator[tuple[str, int]]:
    for name, bits in reversed(BITS.items()):
        yield name, key & ((1 << bits) - 1)
        key >>= bits


def latency(records: pa.Table) -> pa.ChunkedArray:
    """ms from when a send was due, or was invoked where it had no time, to its completion; null without one."""
    due = pc.coalesce(records["intended"], records["invoked"])
    return pc.divide(pc.subtract(records["completed"], due).cast(pa.float64()), NANOSECONDS)


def latency_class(ms: pa.ChunkedArray) -> pa.ChunkedArray:
    """0 where there is no latency."""
    doublings = pc.log2(pc.divide(pc.max_element_wise(ms, FASTEST), FASTEST))
    number = pc.add(pc.floor(pc.multiply(doublings, STEPS)), 1)
    return pc.fill_null(pc.min_element_wise(number, CLASSES), 0).cast(pa.int64())
