"""Runs are judged together in groups of a limited size."""

from __future__ import annotations

import pytest

from analyzers.judge import batch


def test_groups_are_limited_and_hold_no_run_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MOST_RUNS", 2)
    runs = {home: frozenset([run]) for home, run in zip("abcde", ["r1", "r2", "r3", "r3", "r1"], strict=True)}
    assert list(batch.without_shared_runs(runs)) == [["a", "b"], ["c", "e"], ["d"]]
