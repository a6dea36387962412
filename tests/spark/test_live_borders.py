"""What is certain while the run goes on is found once, also where its rows lie in different windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from analyzers.judge.live import Reported, find_live
from tests.support.live_windows import cut_at, joined
from tests.support.stories.groups import commit, member
from tests.support.stories.planted import RUNNING
from tests.support.stories.queues import got, said
from tests.support.stories.removals import created
from tests.support.stories.running import RUNNING_STORIES
from tests.support.stories.transactions import A as TXN
from tests.support.stories.transactions import txn

pytestmark = pytest.mark.spark

ONE, TWO, LATE = 1 << 40, 2 << 40, 3 << 40
"""Process 3 seals its segments a window late."""

SECOND = 1_000_000_000
Border = Callable[[], None]


def overwritten(s: Any, border: Border) -> None:
    """A write that was acknowledged at an offset where readers then get a later one."""
    created(s).send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0, leader_epoch=1)
    border()
    s.send(TWO, 1).poll(TWO, 1, leader_epoch=2)
    border()
    s.poll(TWO, 1, process=11, leader_epoch=2)


def left_out(s: Any, border: Border) -> None:
    """A write at an offset that a reader passes. A record that was sent later is read only in the next window."""
    created(s).send(ONE, 0).send(ONE + 1, 1, at=(30, 40)).send(ONE + 2, 2, at=(35, 40)).poll(
        ONE, 0, leader_epoch=1
    )
    s.poll(ONE + 2, 2, leader_epoch=2)
    border()
    s.send(TWO, 3).poll(TWO, 3, leader_epoch=2, process=11)
    border()
    s.send(TWO + 1, 4).poll(TWO + 1, 4, leader_epoch=2, process=11)


def acknowledged_late(s: Any, border: Border) -> None:
    """The row of the acknowledgement is in the window after that of the readers."""
    created(s).send(ONE, 0).send(LATE, 1).poll(ONE, 0, leader_epoch=1)
    s.send(TWO, 1).poll(TWO, 1, leader_epoch=2)
    border()


def twice(s: Any, border: Border) -> None:
    s.send(ONE, 0).poll(ONE, 0)
    border()
    s.poll(ONE, 3, process=11)
    border()
    s.poll(ONE, 0, process=12)


def two_values(s: Any, border: Border) -> None:
    s.send(ONE, 0).send(TWO, None, type="info").poll(ONE, 0)
    border()
    s.poll(TWO, 0, process=11)
    border()
    s.poll(TWO, 0, process=12)


def refused_after_it_was_read(s: Any, border: Border) -> None:
    s.send(ONE, None, type="fail", at=(1, 90)).poll(ONE, 0, at=(5, 9))
    s.now = 50
    border()


def back_in_the_log(s: Any, border: Border) -> None:
    s.poll(ONE, 5).poll(ONE + 1, 6)
    border()
    s.poll(ONE + 2, 4)
    border()
    s.poll(ONE + 3, 7)


def sent_back(s: Any, border: Border) -> None:
    """It shows only when a send between the two is acknowledged."""
    s.send(ONE, 5).send(ONE + 1, 9, at=(20, 500)).send(ONE + 2, 7, at=(21, 30))
    s.now = 100
    border()
    s.now = 510
    border()
    s.send(ONE + 3, 12)


def skipped(s: Any, border: Border) -> None:
    created(s).send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2).poll(ONE, 0).poll(ONE + 2, 2)
    border()
    s.poll(ONE + 1, 1, process=11)
    border()
    s.poll(ONE + 2, 2, process=11)


def read_short(s: Any, border: Border) -> None:
    s.operation("read", end_offset=5, start_offset=0, session=1)
    border()
    s.operation("read", end_offset=3, start_offset=0, session=1)


def missed_its_write(s: Any, border: Border) -> None:
    created(s).send(ONE, 0, session=1)
    border()
    s.operation("read", end_offset=0, start_offset=0, session=1, process=1)
    border()
    s.send(ONE + 1, 1, session=1)


def read_its_write_long_ago(s: Any, border: Border) -> None:
    """Of that time, only how far the session had got is known by the end, not that it got its write."""
    created(s).send(ONE, 0, session=1, at=(1, 9)).poll(ONE, 0, process=1, session=1, at=(10, 11))
    s.poll(TWO, 1, process=1, session=1, at=(12, 13))
    for minutes in (10, 20):
        border()
        at = minutes * 60 * SECOND
        s.operation("read", end_offset=2, start_offset=2, session=1, process=1, at=(at, at + 1))
        s.send(ONE + minutes, minutes, session=1, at=(at + 2, at + 3))


def wrote_before_what_it_had_read(s: Any, border: Border) -> None:
    s.poll(TWO, 5, process=1, session=1).send(ONE, 6, session=1)
    border()
    s.send(ONE + 1, 3, session=1)


def before_its_transaction_ended(s: Any, border: Border) -> None:
    s.send(ONE, 0, transaction=TXN, at=(1, 99)).poll(ONE, 0, committed=True, at=(5, 9))
    s.now = 50
    border()
    txn(s, TXN, (0, 100), ending=50)


def commit_of_a_former_owner(s: Any, border: Border) -> None:
    member(s, 5, "assigned", (1, 2), generation=1)
    member(s, 6, "assigned", (3, 4), generation=2)
    border()
    commit(s, 5, 9, (30, 31), generation=1)
    border()
    commit(s, 6, 9, (60, 61), generation=2)


def two_owners(s: Any, border: Border) -> None:
    member(s, 5, "assigned", (1, 2), generation=1)
    member(s, 6, "assigned", (3, 4), generation=1)
    border()
    member(s, 5, "revoked", (30, 31), generation=1)


def delivered_again(s: Any, border: Border) -> None:
    got(s, 0, 100, (0, SECOND))
    said(s, 0, 100, at=(2 * SECOND, 3 * SECOND))
    border()
    got(s, 0, 101, (20 * SECOND, 21 * SECOND), count=2)


CASES: dict[Callable[[Any, Border], None], set[tuple[int, str]]] = {
    overwritten: {(1, "lost-write"), (1, "offset-reuse")},
    left_out: {(1, "lost-write")},
    acknowledged_late: {(1, "lost-write"), (1, "offset-reuse")},
    twice: {(1, "duplicate")},
    two_values: {(1, "inconsistent-offsets")},
    refused_after_it_was_read: {(1, "G1a")},
    back_in_the_log: {(1, "nonmonotonic-poll")},
    sent_back: {(1, "nonmonotonic-send")},
    skipped: {(1, "poll-skip")},
    read_short: {(1, "monotonic-reads")},
    missed_its_write: {(2, "read-your-writes")},
    read_its_write_long_ago: set(),
    wrote_before_what_it_had_read: {
        (1, "writes-follow-reads"),
        (1, "monotonic-writes"),
        (1, "realtime-order"),
        (1, "nonmonotonic-send"),
    },
    before_its_transaction_ended: {(1, "precommitted-read")},
    commit_of_a_former_owner: {(1, "unfenced-commit")},
    two_owners: {(1, "double-ownership")},
    delivered_again: {(1, "queue-redelivery")},
}
"""To window and anomaly: what is found, and nothing else."""


@pytest.mark.nightly
def test_rows_of_several_windows_are_judged_together(story: Any, spark: Any) -> None:
    each = {}
    for make in CASES:
        s, borders = story(), []
        make(s, lambda s=s, borders=borders: borders.append(s.now))
        each[make.__name__] = [*joined(cut_at(s, make.__name__, borders, number=3, late=LATE >> 40))]
    found: dict[str, set[tuple[int, str]]] = {name: set() for name in each}
    reported = Reported()
    for at in range(3):
        together = {
            name: pa.concat_tables(windows[at][name] for windows in each.values())
            for name in ("records", "operations")
        }
        now, crashed = find_live(spark, together, reported, keeps_records=True)
        assert not crashed
        for one in now:
            assert one.count == 1, one
            assert (at, one.anomaly) not in found[one.run]
            found[one.run].add((at, one.anomaly))
    assert found == {make.__name__: expected for make, expected in CASES.items()}


def test_only_what_is_certain_is_found(story: Any, spark: Any) -> None:
    stories = {make.__name__: make(story()) for make in RUNNING_STORIES}
    each = [window for name, s in stories.items() for window in joined(cut_at(s, name, [], number=1))]
    together = {name: pa.concat_tables(window[name] for window in each) for name in ("records", "operations")}
    live, crashed = find_live(spark, together, Reported(), keeps_records=True)
    assert not crashed
    asked = {check.name for check in RUNNING}
    found: dict[str, dict[str, int]] = {name: {} for name in stories}
    for one in live:
        if one.anomaly in asked:
            found[one.run][one.anomaly] = one.count
    assert found == {make.__name__: expected for make, expected in RUNNING_STORIES.items()}
