"""Sorting in memory and on disk agrees with Python's own sort."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.repetitions import repetitions
from workloads.history.compaction.compact import with_bucket
from workloads.history.compaction.sorting import externally_sorted, in_order
from workloads.history.parquet import bucket

SCHEMA = pa.schema(
    [("text", pa.string()), ("number", pa.int32()), ("large", pa.int64()), ("other", pa.string()), ("at", pa.int64())]
)  # fmt: skip
KEYS = ("text", "number", "large")
ENDS = (-(1 << 63), (1 << 63) - 1)


def rows(*, texts: list[str | None], numbers: list[int | None], large: list[int | None]) -> Any:
    one = st.tuples(
        st.sampled_from(texts), st.sampled_from(numbers), st.sampled_from(large), st.sampled_from(texts)
    )
    return st.lists(one, max_size=20)


# Columns with one value, with nulls, with only nulls, and keys that do not fit into one number.
SOME = (
    rows(texts=["a", "b", None], numbers=[1, 2, None], large=[5, 7, None])
    | rows(texts=["a"], numbers=[3], large=[0, 9])
    | rows(texts=[None], numbers=[None], large=[None])
    | rows(texts=["a", "b"], numbers=[1, 2, None], large=[*ENDS, 0, None])
)


def sort_key(row: dict[str, Any]) -> list[tuple[bool, Any]]:
    return [(row[name] is None, row[name]) for name in KEYS]


@given(chunks=st.lists(SOME, max_size=4), memory=st.sampled_from([1, 1000]))
@settings(max_examples=repetitions(200, shorter=60), deadline=None)
def test_runs_are_merged_into_the_order_of_all_rows(chunks: list[list[tuple[Any, ...]]], memory: int) -> None:
    tables, number = [], 0
    for chunk in chunks:
        expected = [dict(zip(SCHEMA.names, (*row, number + at), strict=True)) for at, row in enumerate(chunk)]
        number += len(chunk)
        tables.append(pa.Table.from_pylist(expected, schema=SCHEMA))
        assert in_order(tables[-1], KEYS).to_pylist() == sorted(expected, key=sort_key)
    every = [row for table in tables for row in table.to_pylist()]
    with (
        tempfile.TemporaryDirectory() as scratch,
        externally_sorted(
            (table for table in tables if len(table)),
            KEYS,
            spill=Path(scratch) / "spill",
            memory=memory,
            expected=memory,
        ) as found,
    ):
        merged = [row for table in found for row in table.to_pylist()]
    # Rows with equal keys keep their order within a run; the order of runs does not matter.
    assert [sort_key(row) for row in merged] == sorted(map(sort_key, every))
    assert sorted(merged, key=lambda row: row["at"]) == every


@pytest.mark.parametrize("runs", [["r"], ["r", "s", None]])
def test_every_row_gets_the_bucket_of_its_log(runs: list[str | None]) -> None:
    logs = [(run, topic, at) for run in runs for topic in ("a", None, "b") for at in (4, None, 0)]
    repeated = [logs[at * at % len(logs)] for at in range(100)]
    schema = pa.schema([("run", pa.string()), ("topic", pa.string()), ("partition", pa.int32())])
    table = pa.Table.from_pylist(
        [dict(zip(schema.names, log, strict=True)) for log in repeated], schema=schema
    )
    found = with_bucket(table, buckets=32)["bucket"].to_pylist()
    assert found == [bucket(*log, buckets=32) for log in repeated]
    assert pc.count_distinct(with_bucket(table.slice(0, 0), buckets=32)["bucket"]).as_py() == 0
