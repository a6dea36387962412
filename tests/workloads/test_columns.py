"""Rows held by column are those that were added, whatever they have in common."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from workloads.history.writer import Columns

SCHEMA = pa.schema([("run", pa.string()), ("op", pa.int64()), ("final", pa.bool_()), ("node", pa.int32())])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "run": st.sampled_from(["a", "b"]),
    "op": st.integers(0, 2),
    "final": st.booleans(),
    "node": st.just(7),
}


@st.composite
def additions(draw: st.DrawFn) -> tuple[int, dict[str, Any], dict[str, list[Any]]]:
    count = draw(st.integers(0, 3))
    same: dict[str, Any] = {}
    each: dict[str, list[Any]] = {}
    for name, values in VALUES.items():
        kind, known = draw(st.sampled_from(["absent", "same", "each"])), values | st.none()
        if kind == "same":
            same[name] = draw(known)
        elif kind == "each":
            each[name] = draw(st.lists(known, min_size=count, max_size=count))
    return count, same, each


@given(st.lists(st.lists(additions(), max_size=5), max_size=3))
def test_rows_are_those_that_were_added(batches: list[list[Any]]) -> None:
    columns = Columns("t", SCHEMA)
    for batch in batches:
        expected = []
        for count, same, each in batch:
            columns.add(count, same, each)
            for place in range(count):
                row = same | {name: values[place] for name, values in each.items()}
                expected.append(dict.fromkeys(SCHEMA.names) | row)
        assert len(columns) == len(expected)
        taken = columns.take()
        assert taken.to_pylist() == expected
        assert taken.schema == SCHEMA
        assert len(columns) == 0
