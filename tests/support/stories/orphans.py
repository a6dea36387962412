"""Histories with partitions that have no owner for a while, and near misses: who is alive in the meantime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import S, died, log, member


def abandoned(s: Any) -> Any:
    """Member 5 owns the partition until it dies at 30 ns. Nobody gets it afterwards."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0)
    return died(s, 5, 30)


def seen(s: Any, process: int, first: int, last: int, *, group: str = "g", end: str = "left") -> Any:
    """A member without a partition is alive from its first event to its last one."""
    member(s, process, "joined", (first, first), partition=None, group=group)
    return member(s, process, end, (last, last), partition=None, group=group)


def orphaned_while_one_member_follows_another(s: Any) -> Any:
    """The second one joins in the nanosecond in which the first one leaves."""
    return seen(seen(abandoned(s), 6, 25, S), 7, S, 2 * S)


def orphaned_while_one_member_outlives_another(s: Any) -> Any:
    """The life of the second one lies within that of the first one, which the third one meets."""
    seen(seen(abandoned(s), 6, 25, S), 7, 30, 40)
    return seen(s, 8, S - 1, 2 * S - 2)


def orphaned_until_the_last_member_died(s: Any) -> Any:
    """It did nothing between joining and its death."""
    member(abandoned(s), 6, "joined", (25, 26), partition=None)
    return died(s, 6, 2 * S)


def nobody_was_alive_between_two_members(s: Any) -> Any:
    """For longer than the limit, but with nobody alive in the middle."""
    return seen(seen(abandoned(s), 6, 25, S), 7, S + 1, 2 * S)


def another_group_was_alive_the_whole_time(s: Any) -> Any:
    return seen(nobody_was_alive_between_two_members(s), 9, 25, 2 * S, group="h")


def left_without_having_joined(s: Any) -> Any:
    """It may have been a member of the group only for a moment."""
    seen(abandoned(s), 6, 25, 40)
    return member(s, 7, "left", (2 * S, 2 * S), partition=None)


def joined_again(s: Any, *, end: str) -> Any:
    """A member leaves the group, and joins it again much later."""
    return seen(seen(abandoned(s), 6, 25, 40, end=end), 6, 2 * S, 2 * S + 50)


def left_and_joined_again(s: Any) -> Any:
    return joined_again(s, end="left")


def fenced_and_joined_again(s: Any) -> Any:
    return joined_again(s, end="fenced")


def left_and_joined_in_one_nanosecond(s: Any) -> Any:
    """It may have joined first, and left for good."""
    return seen(seen(abandoned(s), 6, 25, S), 6, S, 2 * S)


def left_and_joined_from_one_nanosecond_on(s: Any) -> Any:
    """It joined last: that took longer."""
    seen(abandoned(s), 6, 25, S)
    member(s, 6, "joined", (S, S + 5), partition=None)
    return member(s, 6, "left", (3 * S, 3 * S), partition=None)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    orphaned_while_one_member_follows_another: {"orphaned-partition": 1},
    orphaned_while_one_member_outlives_another: {"orphaned-partition": 1},
    orphaned_until_the_last_member_died: {"orphaned-partition": 1},
    nobody_was_alive_between_two_members: {},
    another_group_was_alive_the_whole_time: {},
    left_without_having_joined: {},
    left_and_joined_again: {},
    fenced_and_joined_again: {},
    left_and_joined_in_one_nanosecond: {},
    left_and_joined_from_one_nanosecond_on: {"orphaned-partition": 1},
}
