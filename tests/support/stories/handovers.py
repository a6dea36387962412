"""Histories in which a group starts above what it had reached, and near misses: what was reached, read and committed
by when, and who counts as a member."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, READ, Span, commit, log, member, numbered, polled


def started(
    s: Any,
    process: int,
    start: int,
    at: Span,
    *,
    generation: int = 2,
    policy: str = "earliest",
    group: str = "g",
) -> Any:
    more: dict[str, Any] = {"generation": generation, "policy": policy, "group": group}
    return member(s, process, "assigned", at, start=start, **more)


def idle(s: Any, size: int = 2) -> Any:
    """Member 5 began at offset 0, and polled nothing until it lost the partition."""
    log(s, size), started(s, 5, 0, (10, 20), generation=1)
    return member(s, 5, "lost", (30, 35))


def reset_while_the_next_owner_was_assigned(s: Any) -> Any:
    """The reset began in the nanosecond in which the assignment was complete."""
    commit(idle(s), 5, 1, (50, 55), reset=True)
    return polled(started(s, 6, 1, (40, 50)), 6, range(1, 2), (60, 70), generation=2)


def two_members_began_together(s: Any) -> Any:
    """The one with the earlier operation skipped the first record, the other one the second record."""
    numbered(started(log(s, 3), 6, 2, (40, 50)), 8), numbered(started(s, 7, 1, (40, 50), generation=1), 7)
    return polled(s, 6, range(2, 3), (60, 70), generation=2)


def skipped_what_was_sent_later(s: Any) -> Any:
    """Nobody read the record below the position. Its acknowledgement came after the assignment."""
    for offset in (0, 1):
        s.send(ONE + offset, offset, at=(81, 85))
    started(s, 5, 0, (10, 20), generation=1)
    polled(started(s, 6, 1, (40, 50)), 6, range(1, 2), (90, 95), generation=2)
    return s.final({1: ONE + 1}, end=2)


def read_from_the_end_of_the_assignment_on(s: Any) -> Any:
    """The record may have been deleted before the assignment was complete: the poll began in that nanosecond."""
    s.send(ONE + 1, 1, at=(1, 2)), started(s, 5, 0, (10, 20), generation=1), started(s, 6, 1, (40, 50))
    s.poll(None, 0, error="corrupt", process=20, at=(50, 60))
    return polled(s, 6, range(1, 2), (60, 70), generation=2)


def skipped_by_a_group_without_polls(s: Any) -> Any:
    """It may read with read_committed, as the one who found the record did."""
    started(s, 5, 0, (10, 20), generation=1), started(s, 6, 1, (40, 50))
    return s.send(ONE, 0, at=(1, 2)).final({0: ONE}, end=1, **READ)


def aborted_for_a_group_without_polls(s: Any) -> Any:
    """It may read with read_committed, and nobody who does found the record."""
    return started(idle(s, 1), 6, 1, (40, 50))


def aborted_beside_a_group_that_reads_all_records(s: Any) -> Any:
    started(idle(s), 6, 1, (40, 50)), polled(s, 6, range(1, 2), (60, 70), generation=2, **READ)
    started(s, 7, 0, (10, 20), group="h", generation=1)
    return polled(s, 7, range(2), (21, 30))


def skipped_and_read_by_other_processes(s: Any) -> Any:
    """By a member of another group before the assignment, and by a process without a group after it."""
    started(idle(s), 6, 1, (40, 50)), polled(s, 6, range(1, 2), (60, 70), generation=2)
    started(s, 7, 0, (10, 20), group="h", generation=1), polled(s, 7, range(1), (21, 30))
    return polled(s, 8, range(1), (51, 60), generation=None)


def started_above_without_polling(s: Any) -> Any:
    """The record at its position is the next one that it may poll."""
    polled(idle(s, 3), 5, range(1), (21, 25))
    return started(s, 6, 2, (40, 50))


def began_in_the_middle_after_a_failed_commit(s: Any) -> Any:
    commit(log(s, 2), 5, 1, (5, 9), kind="fail")
    return polled(started(s, 5, 1, (10, 20), generation=1), 5, range(1, 2), (21, 30))


def began_in_the_middle_between_two_commits(s: Any) -> Any:
    """The first one had no answer, and may have set the position."""
    commit(log(s, 2), 5, 1, (5, None), kind="info")
    polled(started(s, 5, 1, (10, 20), generation=1), 5, range(1, 2), (21, 30))
    return commit(s, 5, 2, (31, 40))


def began_in_the_middle_as_a_commit_began(s: Any) -> Any:
    commit(log(s, 2), 6, 1, (20, None), kind="info")
    return polled(started(s, 5, 1, (10, 20), generation=1), 5, range(1, 2), (21, 30))


def skipped_between_two_commits(s: Any) -> Any:
    """With auto.offset.reset=latest, the first commit binds the next owner."""
    started(log(s, 4), 5, 1, (10, 20), generation=1, policy="latest"), polled(s, 5, range(1, 2), (21, 25))
    commit(s, 5, 2, (26, 30)), started(s, 6, 3, (40, 50), policy="latest")
    polled(s, 6, range(3, 4), (51, 60), generation=2)
    return commit(s, 6, 4, (61, 70), generation=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    reset_while_the_next_owner_was_assigned: {},
    two_members_began_together: {"group-skip": 2},
    skipped_what_was_sent_later: {"lost-write": 1},
    read_from_the_end_of_the_assignment_on: {"corrupt-record": 1},
    skipped_by_a_group_without_polls: {"group-skip": 1},
    aborted_for_a_group_without_polls: {},
    aborted_beside_a_group_that_reads_all_records: {},
    skipped_and_read_by_other_processes: {"group-skip": 1},
    started_above_without_polling: {"group-skip": 1},
    began_in_the_middle_after_a_failed_commit: {"group-skip": 1},
    began_in_the_middle_between_two_commits: {},
    began_in_the_middle_as_a_commit_began: {},
    skipped_between_two_commits: {"group-skip": 1},
}
