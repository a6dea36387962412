"""Histories that differ in which events and commits of members count, by kind, answer and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, READ, S, Span, commit, log, member, numbered, polled
from tests.support.stories.orphans import seen
from tests.support.stories.redeliveries import again, committed, continued


def owner(s: Any) -> Any:
    """Member 5 owns the partition from 20 ns on."""
    return polled(member(log(s, 1), 5, "assigned", (10, 20), start=0), 5, range(1), (21, 22))


def failed_to_get_the_partition(s: Any) -> Any:
    member(owner(s), 6, "assigned", (30, 40), start=0, kind="fail")
    return member(s, 5, "revoked", (45, 50))


def got_the_partition_and_was_not_heard_of_again(s: Any) -> Any:
    """Its callback began while the first owner still owned it, and never returned."""
    member(owner(s), 6, "assigned", (30, None), start=0, kind="info")
    return member(s, 5, "revoked", (45, 50))


def gave_another_partition_up(s: Any) -> Any:
    """It kept the one that another member was assigned."""
    member(owner(s), 5, "assigned", (12, 18), start=0, partition=1)
    member(s, 5, "revoked", (22, 24), partition=1), member(s, 6, "assigned", (30, 40), start=0)
    return member(s, 5, "revoked", (45, 50))


def joined_again_as_the_owner(s: Any) -> Any:
    """With the cooperative protocol it keeps the partition."""
    member(owner(s), 5, "joined", (25, 26), partition=None), member(s, 6, "assigned", (30, 40), start=0)
    return member(s, 5, "revoked", (45, 50))


def fenced_before_it_gave_the_partition_up(s: Any) -> Any:
    """It had lost the partition before, at a time that nobody recorded."""
    member(owner(s), 6, "assigned", (30, 40), start=0), member(s, 5, "fenced", (45, 50), partition=None)
    return member(s, 5, "revoked", (55, 60))


def left_while_it_was_assigned(s: Any) -> Any:
    """Both events began together; it left first, because that was over first."""
    member(log(s, 1), 5, "assigned", (30, 40), start=0), member(s, 5, "left", (30, 35), partition=None)
    member(s, 6, "assigned", (45, 50), start=0), polled(s, 6, range(1), (51, 55))
    return member(s, 5, "revoked", (60, 65))


def revoked_while_it_was_assigned(s: Any) -> Any:
    """Both events took the same time; the assignment has the later operation."""
    numbered(member(log(s, 1), 5, "assigned", (30, 40), start=0), 8)
    numbered(member(s, 5, "revoked", (30, 40)), 7), member(s, 6, "assigned", (45, 50), start=0)
    return member(polled(s, 6, range(1), (51, 55)), 5, "revoked", (60, 65))


def left_behind(s: Any, event: str, at: Span, *, last: int = 2 * S) -> Any:
    """The owner's process ends without a word; another member lives until `last`."""
    value = {"role": "member", "process": 5, "event": event}
    s.harness("worker", value, type="info", at=at)
    return seen(s, 6, 25, last)


def stopped_as_the_owner(s: Any) -> Any:
    return left_behind(owner(s), "stopped", (30, 30))


def crashed_as_the_owner(s: Any) -> Any:
    return left_behind(owner(s), "crashed", (30, 30))


def killed_at_an_unknown_time(s: Any) -> Any:
    return left_behind(owner(s), "killed", (30, None))


def killed_slowly(s: Any) -> Any:
    """Until the operation was over, it may have been the owner."""
    return left_behind(owner(s), "killed", (30, S), last=S + S // 2)


def offsets_of_a_transaction_in_a_group_of_both_kinds(s: Any) -> Any:
    """Only the member that committed them would wait for pending offsets."""
    log(s, 3), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(3), (21, 30), **READ)
    commit(s, 5, 3, (31, 40), transaction=8), member(s, 5, "revoked", (41, 45))
    return again(continued(s, 1), 1, (51, 60))


def committed_beyond_its_polls_without_joining(s: Any) -> Any:
    """As a process does that assigns the partition to itself."""
    polled(log(s, 4), 5, range(2), (20, 30), generation=None)
    return commit(s, 5, 3, (31, 40), generation=None)


def committed_what_it_sent_itself(s: Any) -> Any:
    """It did not poll the record."""
    s.send(ONE, 0, at=(1, 2)).send(5 << 40, 1, at=(3, 4))
    member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 30))
    return commit(s, 5, 2, (31, 40)).final({0: ONE, 1: 5 << 40}, end=2)


def polled_without_an_end_and_again(s: Any) -> Any:
    """The first poll counts from its beginning."""
    log(s, 3), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(3), (21, None), type="info")
    return again(continued(commit(s, 5, 3, (31, 40)), 1), 1, (51, 60))


def polled_again_after_a_failed_reset(s: Any) -> Any:
    commit(committed(s), 5, 0, (42, 44), reset=True, kind="fail")
    return again(continued(s, 1), 1, (51, 60))


def commit_went_back_after_a_reset(s: Any) -> Any:
    commit(log(s, 1, end=10), 5, 9, (10, 20), reset=True), commit(s, 5, 5, (30, 40))
    return commit(s, 5, 3, (50, 60))


def commit_went_back_before_a_reset(s: Any) -> Any:
    commit(log(s, 1, end=10), 5, 5, (10, 20)), commit(s, 5, 3, (30, 40))
    return commit(s, 5, 9, (41, 50), reset=True)


def commit_went_back_when_a_reset_began(s: Any) -> Any:
    """In the nanosecond in which the commit was over: the reset may have come first."""
    commit(log(s, 1, end=10), 5, 5, (10, 20)), commit(s, 5, 3, (30, 40))
    return commit(s, 5, 9, (40, 50), reset=True)


def commit_went_back_after_one_beside_a_reset(s: Any) -> Any:
    """The reset was over in the nanosecond in which the higher commit began, and may have come after it."""
    commit(log(s, 1, end=10), 5, 1, (10, 20), reset=True), commit(s, 5, 5, (20, 30))
    return commit(s, 5, 3, (40, 50))


def higher_commits_had_no_effect(s: Any) -> Any:
    """They were refused, or not answered."""
    commit(log(s, 1, end=10), 5, 9, (10, 20), kind="fail"), commit(s, 5, 8, (10, 20), kind="info")
    return commit(s, 5, 5, (30, 40))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    failed_to_get_the_partition: {},
    got_the_partition_and_was_not_heard_of_again: {"double-ownership": 1},
    gave_another_partition_up: {"double-ownership": 1},
    joined_again_as_the_owner: {"double-ownership": 1},
    fenced_before_it_gave_the_partition_up: {},
    left_while_it_was_assigned: {"double-ownership": 1},
    revoked_while_it_was_assigned: {"double-ownership": 1},
    stopped_as_the_owner: {"orphaned-partition": 1},
    crashed_as_the_owner: {"orphaned-partition": 1},
    killed_at_an_unknown_time: {"orphaned-partition": 1},
    killed_slowly: {},
    offsets_of_a_transaction_in_a_group_of_both_kinds: {},
    committed_beyond_its_polls_without_joining: {"commit-beyond-polls": 1},
    committed_what_it_sent_itself: {"commit-beyond-polls": 1},
    polled_without_an_end_and_again: {"excess-duplicates": 1},
    polled_again_after_a_failed_reset: {"excess-duplicates": 1},
    commit_went_back_after_a_reset: {"commit-regression": 1},
    commit_went_back_before_a_reset: {"commit-regression": 1},
    commit_went_back_when_a_reset_began: {},
    commit_went_back_after_one_beside_a_reset: {},
    higher_commits_had_no_effect: {},
}
