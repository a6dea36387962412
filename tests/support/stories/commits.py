"""Histories in which groups commit positions, and near misses: who found which record when, which commits count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, READ, commit, log, member, polled


def started(s: Any, size: int = 2) -> Any:
    return member(log(s, size), 5, "assigned", (10, 20), start=0)


def committed_without_a_poll(s: Any) -> Any:
    """The group may read with read_committed, and the reader that found the records did not."""
    return commit(started(s), 5, 2, (31, 40))


def committed_without_a_poll_what_was_committed(s: Any) -> Any:
    for offset in range(2):
        s.send(ONE + offset, offset, at=(1, 2))
    commit(member(s, 5, "assigned", (10, 20), start=0), 5, 2, (31, 40))
    return s.final({0: ONE, 1: ONE + 1}, end=2, **READ)


def committed_beyond_its_polls_of_committed_records(s: Any) -> Any:
    """Another reader found the record before and after the commit."""
    polled(started(s, 3), 5, range(1), (21, 30), **READ), polled(s, 20, range(3), (22, 25), **READ)
    return polled(commit(s, 5, 3, (31, 40)), 20, range(3), (41, 50), assignment=2, **READ)


def committed_beyond_a_record_below_an_aborted_one(s: Any) -> Any:
    """A reader of committed records found only the first one."""
    polled(started(s, 3), 5, range(1), (21, 30), **READ), commit(s, 5, 3, (31, 40))
    return polled(s, 20, range(1, 2), (41, 50), **READ)


def committed_what_was_sent_later(s: Any) -> Any:
    """Nobody got the record."""
    s.send(ONE, 0, at=(1, 2)).send(ONE + 1, 1, at=(41, 45))
    polled(member(s, 5, "assigned", (10, 20), start=0), 5, range(1), (21, 30))
    return commit(s, 5, 2, (31, 40))


def committed_up_to_a_record(s: Any) -> Any:
    """It moved past a marker. The next record lies at its position."""
    s.send(ONE, 0, at=(1, 2)).send(ONE + 2, 2, at=(1, 2))
    polled(member(s, 5, "assigned", (10, 20), start=0), 5, range(1), (21, 30))
    return commit(s, 5, 2, (31, 40)).final({0: ONE, 2: ONE + 2}, end=3)


def commits_beyond_its_polls_had_no_effect(s: Any) -> Any:
    """They were refused, or not answered."""
    polled(started(s), 5, range(1), (21, 30)), commit(s, 5, 2, (31, 40), kind="fail")
    return commit(s, 5, 2, (41, 50), kind="info")


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    committed_without_a_poll: {},
    committed_without_a_poll_what_was_committed: {"commit-beyond-polls": 1},
    committed_beyond_its_polls_of_committed_records: {"commit-beyond-polls": 1},
    committed_beyond_a_record_below_an_aborted_one: {"commit-beyond-polls": 1},
    committed_what_was_sent_later: {"unseen": 1},
    committed_up_to_a_record: {},
    commits_beyond_its_polls_had_no_effect: {},
}
