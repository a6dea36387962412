"""The benchmark beside DuckDB has a plain query for each check that it measures."""

from __future__ import annotations

from benchmarks.analysis import WANTED
from benchmarks.plain import QUERIES


def test_every_check_has_a_query() -> None:
    assert QUERIES.keys() == {check.name for check in WANTED}
