"""What the tally of a run says about where facts have to look."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row

from analyzers.history.incarnations import Change, recreated
from analyzers.history.load import MANY_RUNS
from analyzers.judge.tally import Tally, has_generations, has_isolation, has_removals, session_filter

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
    assert has_removals({"a": Tally(), "b": Tally(**counts)}) is removals


@pytest.mark.parametrize(("grouped", "committed"), [(False, 0), (True, 0), (False, 1)])
def test_any_client_of_any_run_may_be_in_a_group_or_isolated(grouped: bool, committed: int) -> None:
    client = Row(grouped=grouped, committed=committed)
    tallies = {"a": Tally(polled=[Row(grouped=False, committed=0)]), "b": Tally(polled=[client])}
    assert (has_generations(tallies), has_isolation(tallies)) == (grouped, committed > 0)


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


def test_the_filter_names_users_and_readers_by_run() -> None:
    runs = {"a": Tally(senders={0}, reading={2}), "it's": Tally(reading={-3}), "none": Tally()}
    session = "coalesce(cast(session as bigint), -1 - process)"
    assert session_filter(runs) == (
        f"(run = 'a' and {session} in (0, 2)) or (run = 'it\\'s' and {session} in (-3))"
    )
    assert session_filter({"none": Tally()}) == "false"
    assert session_filter({str(n): Tally(reading={0}) for n in range(MANY_RUNS + 1)}) == "true"


def test_a_recreation_is_told_by_the_topic() -> None:
    def change(run: str, f: str, value: str | None) -> Change:
        return Change(run, -2, f, "t", 1, 2, value)

    assert recreated([
        change("created", "topic", '{"event": "created"}'),
        change("again", "topic", '{"event": "recreated"}'),
        change("fault", "recreate", '{"event": "recreated"}'),
        change("empty", "topic", None),
    ]) == {"again"}  # fmt: skip
