"""Each record gets the number of its bucket, and each bucket becomes a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorting import numbered
from workloads.history.layout import KEY, bucket

BUCKET = "bucket"
"""A column that records have while they are sorted, and not in the files."""


def with_bucket(records: pa.Table, *, buckets: int) -> pa.Table:
    """Append `BUCKET`. Logs are few, so that each one's bucket is computed once."""
    codes = pa.repeat(pa.scalar(0, pa.int64()), len(records))
    for name in KEY:
        column, bits = numbered(records[name])
        # Most have one value alone.
        codes = pc.bit_wise_or(pc.shift_left(codes, bits), column) if bits else codes
    logs = codes.dictionary_encode()
    examples = records.select(KEY).take(_firsts(logs.indices)).to_pylist()
    numbers = pa.array([bucket(*log.values(), buckets=buckets) for log in examples], pa.int32())
    return records.append_column(BUCKET, numbers.take(logs.indices))


def _firsts(codes: pa.Array) -> pa.Array:
    """Where each code is met first; codes are given from 0 in the order of that."""
    highest = pc.cumulative_max(codes)
    begins = pc.indices_nonzero(pc.not_equal(highest[1:], highest[:-1]))
    return pa.concat_arrays([pa.array([0], pa.int64())[: len(codes)], pc.add(begins, 1)])


def by_bucket(tables: Iterable[pa.Table]) -> Iterator[tuple[int | None, pa.Table]]:
    """Tables sorted by `BUCKET`, cut where it changes, without it; None of tables that are not divided."""
    for table in tables:
        if BUCKET not in table.column_names:
            yield None, table
            continue
        begin = 0
        for each in pc.value_counts(table[BUCKET]).to_pylist():
            yield each["values"], table.slice(begin, each["counts"]).drop_columns(BUCKET)
            begin += each["counts"]
