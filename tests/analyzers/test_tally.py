"""What the tally of a run says about where facts have to look."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.history.incarnations import Change, recreated
from analyzers.judge.tally import Tally

ONE, OTHER = ("t", 0), ("t", 1)


@pytest.mark.parametrize(
    ("counts", "removals"),
    [
        ({"recorded": {ONE}, "finished": {ONE, OTHER}}, False),
        ({"recorded": {ONE, OTHER}, "finished": {ONE}}, True),
        ({"recorded": {ONE}, "finished": {ONE}, "final_start": 1}, True),
        ({"recorded": {ONE}, "finished": {ONE}, "has_recreation": True}, True),
    ],
)
def test_nothing_was_removed_where_final_reads_begin_at_0(counts: dict[str, Any], removals: bool) -> None:
    assert Tally(**counts).has_removals is removals


@pytest.mark.parametrize(
    ("counts", "users"),
    [
        ({"senders": {0, 1}, "pollers": set()}, {0, 1}),
        ({"senders": {-1, -2}, "pollers": {-2, -3}}, {-2}),
        ({"senders": set(), "pollers": {3}}, set()),
    ],
)
def test_users_are_declared_sessions_and_processes_that_also_poll(
    counts: dict[str, Any], users: set[int]
) -> None:
    assert Tally(**counts).users == users


def test_a_recreation_is_told_by_the_topic() -> None:
    def change(run: str, f: str, value: str | None) -> Change:
        return Change(run, -2, f, "ok", "t", 1, 2, value)

    assert recreated([
        change("created", "topic", '{"event": "created"}'),
        change("again", "topic", '{"event": "recreated"}'),
        change("fault", "recreate", '{"event": "recreated"}'),
        change("empty", "topic", None),
    ]) == {"again"}  # fmt: skip
