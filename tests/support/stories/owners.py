"""Histories in which a partition has owners of different generations or with one group.instance.id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import commit, log, member, polled


def owned_in_two_generations(s: Any) -> Any:
    """The first owner was never asked to give the partition up, and its commits are accepted in every generation."""
    log(s, 2), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 25))
    member(s, 6, "assigned", (30, 40), generation=2, start=0), polled(s, 6, range(1), (41, 45), generation=2)
    return commit(s, 5, 1, (46, 50), generation=3)


def got_back_in_a_later_generation(s: Any) -> Any:
    """Owners after each other.

    A member keeps the partition while its epoch grows, gives it up, and gets it back; the owner in between learns of
    it late. What it commits in the meantime is refused.
    """
    log(s, 2), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 25))
    commit(s, 5, 1, (26, 30), generation=2), member(s, 5, "revoked", (31, 35), generation=2)
    member(s, 6, "assigned", (36, 40), generation=3, start=1), commit(s, 6, 1, (41, 45), generation=3)
    member(s, 5, "assigned", (50, 60), generation=4, start=1), commit(s, 5, 1, (61, 65), generation=4)
    commit(s, 6, 1, (61, 65), generation=3, kind="fail"), member(s, 6, "revoked", (70, 75), generation=3)
    return commit(s, 5, 1, (80, 85), generation=5)


def replaced(s: Any) -> Any:
    """A paused member is replaced by one with its group.instance.id, which gets its assignment and generation."""
    log(s, 2), member(s, 5, "assigned", (10, 20), start=0, instance="i"), polled(s, 5, range(1), (21, 25))
    commit(s, 5, 1, (26, 30)), member(s, 6, "assigned", (40, 50), start=1, instance="i")
    return polled(s, 6, range(1, 2), (51, 55))


def static_member_replaced_while_paused(s: Any) -> Any:
    """It believes in its assignment until it closes; its commit is refused (FencedInstanceId)."""
    replaced(s), commit(s, 5, 1, (60, 65), kind="fail")
    return member(s, 5, "revoked", (70, 75), instance="i")


def static_member_not_fenced(s: Any) -> Any:
    replaced(s), commit(s, 5, 1, (60, 65))
    return member(s, 5, "revoked", (70, 75), instance="i")


def members_with_other_instances(s: Any) -> Any:
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0, instance="i")
    member(s, 6, "assigned", (30, 40), start=0, instance="j"), member(s, 5, "revoked", (41, 50), instance="i")
    member(s, 7, "assigned", (80, 90), start=0, instance="i", generation=2)
    return polled(s, 6, range(1), (60, 70))


def commit_of_an_older_generation(s: Any) -> Any:
    """It had to be refused, and proves nothing about an assignment of the newer one."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0, generation=2)
    member(s, 6, "assigned", (30, 40), start=0, generation=2), polled(s, 6, range(1), (41, 42), generation=2)
    return commit(s, 5, 1, (43, 50))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    owned_in_two_generations: {"double-ownership": 1},
    got_back_in_a_later_generation: {},
    static_member_replaced_while_paused: {},
    static_member_not_fenced: {"double-ownership": 1},
    members_with_other_instances: {"double-ownership": 1},
    commit_of_an_older_generation: {"unfenced-commit": 1},
}
