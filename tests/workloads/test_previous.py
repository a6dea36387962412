"""The record before each record, which compaction adds, agrees with a loop over all rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.repetitions import repetitions
from workloads.history.compaction.sorted_records import GROUP, with_previous
from workloads.history.schema import RECORDS


def previous_in_a_loop(rows: list[dict[str, Any]]) -> list[tuple[int | None, bool | None]]:
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    answers: list[tuple[int | None, bool | None]] = []
    for row in rows:
        key = tuple(row[name] for name in GROUP)
        operation = "op" if row["f"] == "poll" else "transaction"
        if before := last.get(key):
            within = row[operation] is not None and row[operation] == before[operation]
            answers.append((before["offset"], within))
        else:
            answers.append((None, None))
        if row["offset"] is not None and (row["f"] == "poll" or row["type"] == "ok"):
            last[key] = row
    return answers


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "topic": st.sampled_from("ab"),
            "partition": st.integers(0, 1),
            "process": st.integers(0, 1),
            "f": st.sampled_from(["send", "poll"]),
            "type": st.sampled_from(["ok", "fail", "info"]),
            "assignment": st.integers(0, 1),
            "offset": st.none() | st.integers(0, 9),
            "op": st.integers(0, 1),
            "transaction": st.none() | st.integers(0, 1),
            "generation": st.none() | st.integers(0, 1),
        }
    ),
    max_size=30,
)


@given(rows=ROWS)
@settings(
    max_examples=repetitions(200, shorter=60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_previous_agrees_with_a_loop(rows: list[dict[str, Any]]) -> None:
    numbered = [{**row, "index": number} for number, row in enumerate(rows)]
    order = [*GROUP, "index"]
    table = pa.Table.from_pylist(numbered, schema=RECORDS).sort_by([(name, "ascending") for name in order])
    expected = previous_in_a_loop(table.to_pylist())
    for size in (1, 2, 7, 99):
        cuts = [table.slice(at, size) for at in range(0, len(table), size)]
        filled = [row for cut in with_previous(cuts) for row in cut.to_pylist()]
        assert [(row["previous"], row["within"]) for row in filled] == expected, size
