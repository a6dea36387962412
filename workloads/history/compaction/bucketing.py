"""Assigns records to buckets, and cuts sorted tables where the bucket changes (see `workloads.history.layout`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorting import numbered
from workloads.history.layout import KEY, bucket

BUCKET = "bucket"
"""A column that records have while they are sorted; it is not in the files."""


def with_bucket(records: pa.Table, *, buckets: int) -> pa.Table:
    """Append `BUCKET`. There are few logs, so the bucket is computed once for each log, not for each row."""
    codes = pa.repeat(pa.scalar(0, pa.int64()), len(records))
    for name in KEY:
        column, bits = numbered(records[name])
        # Most columns have a single value and need no bits.
        codes = pc.bit_wise_or(pc.shift_left(codes, bits), column) if bits else codes
    logs = codes.dictionary_encode()
    examples = records.select(KEY).take(_firsts(logs.indices)).to_pylist()
    numbers = pa.array([bucket(*log.values(), buckets=buckets) for log in examples], pa.int32())
    return records.append_column(BUCKET, numbers.take(logs.indices))


def _firsts(codes: pa.Array) -> pa.Array:
    """The first position of each code; codes are numbered from 0 in the order in which they first appear."""
    highest = pc.cumulative_max(codes)
    begins = pc.indices_nonzero(pc.not_equal(highest[1:], highest[:-1]))
    return pa.concat_arrays([pa.array([0], pa.int64())[: len(codes)], pc.add(begins, 1)])


def by_bucket(tables: Iterable[pa.Table]) -> Iterator[tuple[int | None, pa.Table]]:
    """Cut tables sorted by `BUCKET` where it changes, and drop the column. The bucket is None for undivided
    tables."""
    for table in tables:
        if BUCKET not in table.column_names:
            yield None, table
            continue
        begin = 0
        for each in pc.value_counts(table[BUCKET]).to_pylist():
            yield each["values"], table.slice(begin, each["counts"]).drop_columns(BUCKET)
            begin += each["counts"]
