"""The offsets that readers passed are few ranges, however often they read."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.facts.transactions import FINAL, coverage

pytestmark = pytest.mark.spark

ONE = 1 << 40
READS = 40


def test_reads_that_follow_each_other_are_one_range(story: Any, loaded: Any) -> None:
    s = story()
    for i in range(READS):
        s.send(ONE + i, i)
        s.poll(ONE + i, i, process=10, committed=True, assignment=i)
        s.operation("read", process=10, start_offset=i, end_offset=i + 1)
    s.final({i: ONE + i for i in range(READS)}, end=READS, committed=True)
    (row,) = coverage(loaded({"r": s})).collect()
    assert sorted(row.spans) == [(FINAL, 0, READS - 1), (10, 0, READS - 1)]


def test_ranges_are_merged_only_where_they_overlap_or_touch(story: Any, loaded: Any) -> None:
    s = story()
    for i, (low, high) in enumerate(
        [(0, 9), (2, 3), (10, 12), (14, 15), (20, 30), (21, 22), (29, 31), (33, 33)]
    ):
        s.poll(ONE + low, low, process=10, committed=True, assignment=2 * i)
        s.poll(ONE + high, high, process=10, committed=True, assignment=2 * i)
    s.poll(ONE + 13, 13, process=11, committed=True)
    (row,) = coverage(loaded({"r": s})).collect()
    assert sorted(row.spans) == [(10, 0, 12), (10, 14, 15), (10, 20, 31), (10, 33, 33), (11, 13, 13)]
