"""Histories with committed positions above the end of the log, and near misses.

The log has two records, and its final read finds that it ends at 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, READ, commit, log, member, polled
from tests.support.stories.transactions import A, observe, txn


def owned(s: Any) -> Any:
    """Member 5 polled both records."""
    return polled(member(log(s, 2), 5, "assigned", (10, 20), start=0), 5, range(2), (21, 30))


def committed_above_the_end(s: Any) -> Any:
    return commit(owned(s), 5, 9, (31, 40))


def committed_one_above_the_end(s: Any) -> Any:
    return commit(owned(s), 5, 3, (31, 40))


def committed_the_end(s: Any) -> Any:
    return commit(owned(s), 5, 2, (31, 40))


def reset_above_the_end(s: Any) -> Any:
    return commit(owned(s), 5, 9, (31, 40), reset=True)


def failed_to_commit_above_the_end(s: Any) -> Any:
    return commit(commit(owned(s), 5, 9, (31, 40), kind="fail"), 5, 9, (41, None), kind="info")


def committed_above_the_end_when_the_final_read_began(s: Any) -> Any:
    """The log may have grown meanwhile."""
    s.send(ONE, 0, at=(1, 2)).final({0: ONE}, end=1)
    return commit(s, 5, 9, (s.operations[-1]["invoked"], s.now + 5))


def committed_above_the_end_that_was_polled(s: Any) -> Any:
    """A record at offset 8 is gone: that is a lost read."""
    s.poll(None, 8, process=6, at=(21, 30), error="foreign")
    return commit(owned(s), 5, 9, (31, 40))


def committed_above_the_end_that_a_broker_reported(s: Any) -> Any:
    return commit(owned(observe(s, None, 25, node=2, leader=-1, high=0, end=9)), 5, 9, (31, 40))


def committed_above_the_end_and_above_that_of_a_broker(s: Any) -> Any:
    return commit(owned(observe(s, None, 25, node=2, leader=-1, high=0, end=8)), 5, 9, (31, 40))


def committed_the_end_of_a_read(s: Any) -> Any:
    s.operation("read", process=20, at=(21, 30), type="info", start_offset=0, end_offset=9, session=4)
    return commit(owned(s), 5, 9, (31, 40))


def without_a_final_read(s: Any) -> Any:
    """It did not complete, so that nobody knows where the log ends."""
    s.send(ONE, 0, at=(1, 2)).operation(
        "final-read", process=99, at=(900, 950), type="info", start_offset=0, end_offset=1
    )
    return commit(s, 5, 9, (31, 40))


def committed_records(s: Any, kind: str) -> Any:
    """The final read finds the last stable offset."""
    s.send(ONE, 0, at=(1, 2)).send(
        2 << 40, 1, transaction=A, at=(3, 15), type="ok" if kind == "ok" else "info"
    )
    txn(s, A, (2, 15), process=2, kind=kind, ending=14)
    s.now = 900
    found = {0: ONE, 1: 2 << 40} if kind == "ok" else {0: ONE}
    return commit(s.final(found, end=len(found), **READ), 5, 9, (31, 40))


def committed_above_an_end_that_is_the_last_stable_offset_of_an_empty_log(s: Any) -> Any:
    """No poll says so, only the row of the final read."""
    txn(s, A, (2, 15), process=2, kind="info", ending=14).send(ONE, None, at=(1, 2), type="info")
    s.now = 900
    s.final({}, end=0).operations[-1]["value"] = '{"committed": true}'
    return commit(s, 5, 9, (31, 40))


def committed_above_the_last_stable_offset(s: Any) -> Any:
    return committed_records(s, "info")


def committed_above_the_end_of_ended_transactions(s: Any) -> Any:
    return committed_records(s, "ok")


def committed_above_the_end_after_a_commit_that_was_refused(s: Any) -> Any:
    """All transactions have ended, so that the final read of committed records finds the end."""
    return commit(committed_records(s, "ok"), 5, 1, (21, 30), kind="fail")


def committed_above_the_end_of_all_records(s: Any) -> Any:
    """A transaction has not ended, but the final read finds the end: only the member read committed records."""
    s.send(ONE, 0, at=(1, 2)).send(2 << 40, 1, transaction=A, at=(3, 15), type="info")
    txn(s, A, (2, 15), process=2, kind="info", ending=14)
    member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 30), **READ)
    s.now = 900
    return commit(s.final({0: ONE, 1: 2 << 40}, end=2, committed=False), 5, 9, (31, 40))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    committed_above_the_end: {"commit-beyond-end": 1},
    committed_one_above_the_end: {"commit-beyond-end": 1},
    committed_the_end: {},
    reset_above_the_end: {},
    failed_to_commit_above_the_end: {},
    committed_above_the_end_when_the_final_read_began: {},
    committed_above_the_end_that_was_polled: {"foreign-record": 1},
    committed_above_the_end_that_a_broker_reported: {},
    committed_above_the_end_and_above_that_of_a_broker: {"commit-beyond-end": 1},
    committed_the_end_of_a_read: {},
    without_a_final_read: {"unseen": 1},
    committed_above_an_end_that_is_the_last_stable_offset_of_an_empty_log: {},
    committed_above_the_last_stable_offset: {},
    committed_above_the_end_of_ended_transactions: {"commit-beyond-end": 1},
    committed_above_the_end_after_a_commit_that_was_refused: {"commit-beyond-end": 1},
    committed_above_the_end_of_all_records: {"commit-beyond-end": 1},
}
