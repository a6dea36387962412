"""Histories in which a partition has owners of different generations or with one group.instance.id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import commit, log, member, numbered, polled


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


def owned_until(s: Any, event: str, **more: Any) -> Any:
    """Another member gets the partition at 40 ns. The event of the first one takes from 45 to 50 ns."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 22))
    return member(member(s, 6, "assigned", (30, 40), start=0), 5, event, (45, 50), **more)


def owned_twice_until_the_first_owner_left(s: Any) -> Any:
    return owned_until(s, "left", partition=None)


def owned_twice_until_the_first_owner_got_it_again(s: Any) -> Any:
    return owned_until(s, "assigned")


def committed_until_it_lost_the_partition(s: Any) -> Any:
    """Of several commits, the last one counts. It was over when the event began."""
    commit(owned_until(s, "lost"), 5, 1, (41, 45))
    return commit(s, 5, 1, (23, 25))


def committed_beside_an_owner_of_a_newer_generation(s: Any) -> Any:
    """The later commit had to be refused, but shows that the first owner still had its assignment."""
    commit(owned_until(s, "lost"), 5, 1, (23, 25)), member(s, 7, "assigned", (26, 28), generation=2, start=0)
    return commit(s, 5, 1, (41, 45))


def committed_while_it_lost_the_partition(s: Any) -> Any:
    """Nothing shows that the commit was accepted before the event."""
    return commit(owned_until(s, "lost"), 5, 1, (41, 46))


def owned_in_two_generations_of_which_it_knew(s: Any) -> Any:
    """The first owner commits in the generation of the second one."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 25))
    commit(s, 5, 1, (26, 28)), member(s, 6, "assigned", (30, 40), generation=2, start=0)
    return commit(s, 5, 1, (46, 50), generation=2)


def owned_in_an_older_generation(s: Any) -> Any:
    """The commit began in the nanosecond in which an assignment of a newer generation was complete."""
    log(s, 1), member(s, 6, "assigned", (36, 40), generation=4, start=0)
    member(s, 5, "assigned", (10, 20), generation=2, start=0), polled(s, 5, range(1), (21, 25), generation=2)
    member(s, 7, "assigned", (30, 35), generation=3, start=0)
    return commit(s, 5, 1, (40, 45), generation=3)


def heard_late_of_an_older_assignment(s: Any) -> Any:
    """A member that was paused and replaced hears of its assignment when the next owner has long committed. What it
    commits is refused."""
    log(s, 1), member(s, 5, "assigned", (10, 20), generation=7, start=0)
    polled(s, 5, range(1), (21, 25), generation=7), member(s, 6, "assigned", (30, 35), generation=5, start=0)
    commit(s, 6, 1, (36, 38), generation=5, kind="fail")
    return commit(s, 5, 1, (40, 45), generation=7)


def owned_beside_two_others(s: Any) -> Any:
    """The second owner gave the partition up before the third one got it; the first one did not."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 22))
    commit(s, 5, 1, (23, 24)), member(s, 6, "assigned", (25, 30), start=1)
    member(s, 6, "revoked", (35, 40)), member(s, 7, "assigned", (50, 60), start=1)
    return member(s, 5, "revoked", (80, 85))


def owned_beside_two_others_of_later_generations(s: Any) -> Any:
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 22))
    member(s, 6, "assigned", (30, 40), generation=2, start=0), commit(s, 6, 1, (41, 45), generation=2)
    member(s, 7, "assigned", (50, 60), generation=3, start=1)
    return commit(s, 5, 1, (70, 75), generation=3)


def owned_from_one_nanosecond_on(s: Any) -> Any:
    """Nothing shows that one of the two owned it for longer than that."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), member(s, 6, "assigned", (12, 20), start=0)
    return member(s, 5, "revoked", (30, 35))


def owned_for_the_same_time(s: Any) -> Any:
    """The one with the later operation counts."""
    numbered(member(log(s, 1), 5, "assigned", (10, 20), start=0), 8)
    numbered(member(s, 6, "assigned", (10, 20), start=0), 7)
    return member(member(s, 5, "revoked", (30, 35)), 6, "revoked", (30, 35))


def replaced_in_one_nanosecond(s: Any) -> Any:
    """The member with the later operation replaced the one that still committed."""
    numbered(member(log(s, 1), 5, "assigned", (10, 20), start=0, instance="i"), 8)
    numbered(member(s, 6, "assigned", (10, 20), start=0, instance="i"), 7)
    polled(s, 6, range(1), (21, 22)), commit(s, 6, 1, (25, 30)), member(s, 6, "revoked", (70, 75))
    return member(s, 5, "revoked", (70, 75))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    owned_in_two_generations: {"double-ownership": 1},
    got_back_in_a_later_generation: {},
    static_member_replaced_while_paused: {},
    static_member_not_fenced: {"double-ownership": 1},
    members_with_other_instances: {"double-ownership": 1},
    commit_of_an_older_generation: {"unfenced-commit": 1},
    owned_twice_until_the_first_owner_left: {"double-ownership": 1},
    owned_twice_until_the_first_owner_got_it_again: {"double-ownership": 1},
    committed_until_it_lost_the_partition: {"double-ownership": 1},
    committed_beside_an_owner_of_a_newer_generation: {"double-ownership": 1, "unfenced-commit": 1},
    committed_while_it_lost_the_partition: {},
    owned_in_two_generations_of_which_it_knew: {"double-ownership": 1},
    owned_in_an_older_generation: {"double-ownership": 1},
    heard_late_of_an_older_assignment: {},
    owned_beside_two_others: {"double-ownership": 2},
    owned_beside_two_others_of_later_generations: {"double-ownership": 2},
    owned_from_one_nanosecond_on: {},
    owned_for_the_same_time: {"double-ownership": 1},
    replaced_in_one_nanosecond: {"double-ownership": 1},
}
