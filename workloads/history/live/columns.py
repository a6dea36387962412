"""Columns of records and operations as arrays that can be compared at once. A condition (`Mask`) has no nulls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorting import flat

Numbers: TypeAlias = pa.Int64Array
Mask: TypeAlias = pa.BooleanArray

OFFSET_BITS, INDEX_BITS, ROW_BITS, PARTITION_BITS = 47, 40, 20, 32


def numbers(table: pa.Table, name: str) -> Numbers:
    """A column of integers."""
    return pc.cast(flat(table[name]), pa.int64())


def positions(rows: pa.Table | Numbers) -> Numbers:
    """The number of each row."""
    return pa.array(range(len(rows)), pa.int64())


def times(table: pa.Table) -> Numbers:
    """ns: when a row was completed or, if it never was, when it began."""
    return pc.coalesce(flat(table["completed"]), flat(table["invoked"]), pa.scalar(0, pa.int64()))


def newest(*tables: pa.Table) -> int:
    """The latest time in some tables, ns; 0 if they are empty."""
    return max((pc.max(times(table)).as_py() for table in tables if len(table)), default=0)


def sessions(table: pa.Table) -> Numbers:
    """A process without a session is one of its own, with a negative number."""
    return pc.coalesce(numbers(table, "session"), pc.subtract(-1, numbers(table, "process")))


def rows_of(records: pa.Table) -> Numbers:
    """What identifies a record: both rows of a send have it in common."""
    return pc.bit_wise_or(pc.shift_left(numbers(records, "process"), INDEX_BITS), numbers(records, "index"))


def both(*masks: Mask) -> Mask:
    return reduce(pc.and_, masks)


def either(*masks: Mask) -> Mask:
    return reduce(pc.or_, masks)


def is_one_of(table: pa.Table, name: str, *texts: str) -> Mask:
    """Whether a column of text has one of these."""
    return pc.is_in(flat(table[name]), value_set=pa.array(texts, pa.string()))


def is_in(values: Numbers, some: Numbers) -> Mask:
    """Null is in nothing."""
    return pc.is_in(values, value_set=pc.drop_null(some))


def at_least(values: Numbers, least: int | Numbers) -> Mask:
    return pc.fill_null(pc.greater_equal(values, least), False)


def is_acknowledged(records: pa.Table) -> Mask:
    """Sends of which the offset and the value are known."""
    is_done = both(is_one_of(records, "f", "send"), is_one_of(records, "type", "ok"))
    return both(is_done, pc.is_valid(flat(records["offset"])), pc.is_valid(flat(records["value"])))


def highest(keys: Sequence[Any], by: Numbers, counts: Mask) -> Mask:
    """For each combination of keys one of the rows that count, with the highest number. These have one."""
    row = positions(by)
    names = [f"key{number}" for number in range(len(keys))]
    packed = pc.bit_wise_or(pc.shift_left(by, ROW_BITS), row)
    table = pa.table([*keys, packed], [*names, "packed"]).filter(counts)
    best = flat(table.group_by(names).aggregate([("packed", "max")])["packed_max"])
    return is_in(row, pc.bit_wise_and(best, (1 << ROW_BITS) - 1))


def has_one(low: Numbers, high: Numbers, places: Numbers) -> Mask:
    """Whether one of the places lies from low to high, for each of these spans. Most of them are empty."""
    is_span = pc.fill_null(pc.less_equal(low, high), False)
    known = pc.drop_null(places)
    upto, below = _counted(known, high.filter(is_span)), _counted(known, pc.subtract(low.filter(is_span), 1))
    row = positions(low)
    return is_in(row, row.filter(is_span).filter(pc.greater(upto, below)))


def in_span(places: Numbers, low: Numbers, high: Numbers) -> Mask:
    """Whether each place lies from low to high in some span. Most of these are empty."""
    is_span = pc.fill_null(pc.less_equal(low, high), False)
    if not pc.any(is_span).as_py():
        return pc.is_in(places, value_set=pa.array([], pa.int64()))
    known = pc.fill_null(places, -1)
    begun, ended = _counted(low.filter(is_span), known), _counted(pc.add(high.filter(is_span), 1), known)
    return pc.greater(begun, ended)


def _counted(values: Numbers, bounds: Numbers) -> Numbers:
    """For each bound, how many of the values are not above it."""
    # The sort is stable: of equal numbers, values come first.
    order = pc.cast(pc.sort_indices(pa.concat_arrays([values, bounds])), pa.int64())
    count = pc.cumulative_sum(pc.cast(pc.less(order, len(values)), pa.int64()))
    return count.take(pc.sort_indices(order))[len(values) :]


class Logs:
    """Numbers the logs, so that a place in one of them is a single number. Memory grows with the number of logs."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, Any], int] = {}

    def of(self, table: pa.Table) -> Numbers:
        """The number of each row's log; a row of no partition is of a log, too."""
        coded = flat(table["topic"]).dictionary_encode()
        topics = [*coded.dictionary.to_pylist(), None]
        topic = pc.fill_null(pc.cast(coded.indices, pa.int64()), len(topics) - 1)
        partition = pc.add(pc.fill_null(numbers(table, "partition"), -1), 1)
        key = pc.bit_wise_or(pc.shift_left(topic, PARTITION_BITS), partition)
        some = pc.unique(key)
        known = [
            self._known.setdefault(
                (topics[each >> PARTITION_BITS], each & ((1 << PARTITION_BITS) - 1)), len(self._known)
            )
            for each in some.to_pylist()
        ]
        return pc.take(pa.array(known, pa.int64()), pc.index_in(key, value_set=some))

    def places(self, table: pa.Table, name: str = "offset") -> Numbers:
        """Log and offset of each row in one number; null without an offset."""
        return pc.add(pc.shift_left(self.of(table), OFFSET_BITS), numbers(table, name))
