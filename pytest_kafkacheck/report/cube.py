"""How many sends and polls there were by bucket, log, process, outcome and class of latency.

A few thousand cells, from which throughput and latency follow for every choice of the page's filters.
"""

from __future__ import annotations

import math
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
    records = run.records
    is_poll = pc.equal(records["f"], "poll")
    records = records.filter(pc.invert(pc.and_(is_poll, pc.fill_null(records["final"], False))))
    topics = records["topic"].dictionary_encode().combine_chunks()
    names = topics.dictionary.to_pylist() if len(topics) else []
    width = (pc.max(records["partition"]).as_py() or 0) + 1
    key = _key(run, records, topics, width)
    cells: list[Cell] = []
    logs: list[tuple[str, int]] = []
    index: dict[int, int] = {}
    for entry in pc.value_counts(key).to_pylist():
        parts = dict(_parts(entry["values"]))
        number = index.setdefault(parts["log"], len(index))
        if number == len(logs):
            logs.append((names[parts["log"] // width], parts["log"] % width))
        cells.append(Cell(**parts | {"log": number}, total=entry["counts"]))
    return Cube(cells=tuple(sorted(cells)), logs=tuple(logs))


def _key(run: RunData, records: pa.Table, topics: pa.Array, width: int) -> pa.ChunkedArray:
    is_poll = pc.equal(records["f"], "poll")
    outcome = pc.if_else(
        is_poll,
        3,
        pc.if_else(pc.equal(records["type"], "ok"), 0, pc.if_else(pc.equal(records["type"], "fail"), 2, 1)),
    )
    log = pc.add(
        pc.multiply(topics.indices.cast(pa.int64()), width),
        pc.fill_null(records["partition"], 0).cast(pa.int64()),
    )
    is_done = pc.and_(pc.or_(is_poll, pc.equal(records["type"], "ok")), pc.is_valid(records["completed"]))
    times = pc.if_else(is_done, records["completed"], records["invoked"])
    key = run.axis.bucket(times).cast(pa.int64())
    for name, column in (
        ("log", log),
        ("process", records["process"]),
        ("outcome", outcome),
        ("latency", pc.if_else(is_poll, 0, latency_class(latency(records)))),
    ):
        key = pc.bit_wise_or(pc.shift_left(key, BITS[name]), column.cast(pa.int64()))
    return key


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


def nice_top(value: float) -> float:
    """The smallest round number that is not below the value; report.js chooses the same."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value * 0.999)
