"""Histories in which members poll below a commit, and near misses: from where, in which generation, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import Span, commit, log, member, polled


def committed(s: Any) -> Any:
    """Member 5 polled all three records, committed offset 3, and gave the partition up."""
    log(s, 3), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(3), (21, 30))
    commit(s, 5, 3, (31, 40))
    return member(s, 5, "revoked", (41, 45))


def continued(
    s: Any, start: int | None, *, process: int = 6, at: Span = (46, 50), generation: int = 2
) -> Any:
    return member(s, process, "assigned", at, start=start, generation=generation)


def again(s: Any, offset: int, at: Span, *, process: int = 6, generation: int = 2, **more: Any) -> Any:
    return polled(s, process, range(offset, offset + 1), at, generation=generation, **more)


def began_at_the_commit_and_polled_below(s: Any) -> Any:
    """The member itself went back: its group had not lost the commit."""
    return again(continued(committed(s), 3), 1, (51, 60))


def began_without_a_position_and_polled_below(s: Any) -> Any:
    return again(continued(committed(s), None), 1, (51, 60))


def polled_below_beside_a_member_that_began_there(s: Any) -> Any:
    """Only one of the two members of the generation began below the commit."""
    again(continued(committed(s), 1), 1, (51, 60))
    return again(continued(s, 3, process=7, at=(61, 65)), 2, (66, 70), process=7)


def polled_below_after_an_assignment_that_began_there(s: Any) -> Any:
    """The member began at the commit when it got the partition in the next generation."""
    again(continued(committed(s), 1), 1, (51, 60))
    return again(continued(s, 3, at=(61, 65), generation=3), 2, (66, 70), generation=3)


def got_twice_in_one_generation(s: Any) -> Any:
    """The first assignment counts, which began below the commit."""
    again(continued(committed(s), 1), 1, (51, 60))
    return continued(s, 3, at=(61, 65))


def polled_below_while_it_was_assigned(s: Any) -> Any:
    """The poll that was not over after the assignment was complete belongs to no assignment for certain."""
    continued(committed(s), 1)
    return again(again(s, 0, (46, 50)), 1, (47, 51))


def polled_first_below_the_commit_by_another_member_than_its_writer(s: Any) -> Any:
    """The writer is a member, too, and member 5 had left the record out."""
    member(log(s, 3), 1, "joined", (3, 4), partition=None)
    member(s, 5, "assigned", (10, 20), start=0)
    polled(s, 5, range(1), (21, 30)), polled(s, 5, range(2, 3), (21, 30))
    commit(s, 5, 3, (31, 40))
    return again(continued(member(s, 5, "revoked", (41, 45)), 1), 1, (51, 60))


def polled_below_before_and_after_a_seek(s: Any) -> Any:
    again(continued(committed(s), 1), 1, (51, 60))
    return again(s, 0, (61, 70), assignment=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    began_at_the_commit_and_polled_below: {},
    began_without_a_position_and_polled_below: {"excess-duplicates": 1},
    polled_below_beside_a_member_that_began_there: {"excess-duplicates": 1},
    polled_below_after_an_assignment_that_began_there: {"excess-duplicates": 1},
    got_twice_in_one_generation: {"excess-duplicates": 1},
    polled_below_while_it_was_assigned: {"excess-duplicates": 1},
    polled_first_below_the_commit_by_another_member_than_its_writer: {"int-poll-skip": 1},
    polled_below_before_and_after_a_seek: {"excess-duplicates": 1},
}
