"""Histories with readers of committed records, which end at the last stable offset, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.sessions import READ as SESSION
from tests.support.stories.transactions import ONE, READ, TWO, A, txn

COMMITTED = '{"committed": true}'


def plain_record_skipped(s: Any) -> Any:
    """It was sent outside of transactions: no reader may leave it out."""
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2)
    s.poll(ONE + 1, 1, process=11).poll(ONE, 0, **READ).poll(ONE + 2, 2, **READ)
    return s.final({0: ONE, 1: ONE + 1, 2: ONE + 2}, end=3)


def committed_record_skipped(s: Any) -> Any:
    """The commit of its transaction was acknowledged, and the reader went past the last stable offset there."""
    s.send(ONE, 0).send(TWO, 1, transaction=A, process=2, at=(21, 40)).send(ONE + 2, 3)
    txn(s, A, (20, 40), process=2)
    s.poll(TWO, 1, process=11).poll(ONE, 0, **READ).poll(ONE + 2, 3, **READ)
    return s.final({0: ONE, 1: TWO, 3: ONE + 2}, end=4)


def aborted_record_skipped(s: Any) -> Any:
    """At the next offsets: records of an aborted transaction, and one that was acknowledged elsewhere."""
    s.send(ONE, 0).send(TWO, 1, transaction=A, type="fail", process=2, at=(21, 40)).send(ONE + 1, None)
    txn(s, A, (20, 40), process=2, outcome="abort")
    s.poll(TWO, 1, process=11).poll(ONE + 1, 2, process=11).send(ONE + 2, 4)
    s.poll(ONE, 0, **READ).poll(ONE + 2, 4, **READ)
    return s.final({0: ONE, 1: TWO, 2: ONE + 1, 4: ONE + 2}, end=5)


def open_transaction_ended_the_read(s: Any) -> Any:
    """A session wrote, and its read ended at the last stable offset, below the write."""
    (
        s.send(ONE, 0, session=7, at=(1, 10)),
        s.operation(**SESSION, start_offset=0, end_offset=0, at=(10, 20), value=COMMITTED),
    )
    (
        s.send(TWO, 0, session=8, partition=1, at=(1, 10)),
        s.send(TWO + 1, 1, session=8, partition=1, at=(11, 20)),
    )
    more = SESSION | {"session": 8, "partition": 1}
    s.poll(TWO, 0, session=8, partition=1, process=20, at=(21, 25), **READ)
    s.operation(**more, start_offset=0, end_offset=1, at=(20, 30))
    return s.final({0: ONE}, end=1).final({0: TWO, 1: TWO + 1}, end=2, partition=1)


def read_passed_the_write(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**SESSION, start_offset=0, end_offset=1, at=(11, 20), value=COMMITTED)
    return s.final({0: ONE}, end=1)


def committed_but_not_marked(s: Any, end: int) -> Any:
    s.send(ONE, 0).send(TWO, 1, transaction=A, process=2, at=(21, 40))
    txn(s, A, (20, 40), process=2)
    return s.final({0: ONE}, end=end, **READ)


def final_read_ended_before_the_marker(s: Any) -> Any:
    """The commit was acknowledged before the read began, but the marker that shows the record is not there yet."""
    return committed_but_not_marked(s, 1)


def final_read_passed_the_record(s: Any) -> Any:
    return committed_but_not_marked(s, 2)


def final_read_got_nothing(s: Any) -> Any:
    """As the first record of the log is not stable, no poll shows how the final read reads."""
    s.send(TWO, 0, transaction=A, process=2, at=(21, 40))
    txn(s, A, (20, 40), process=2)
    return s.final({}, end=0, value=COMMITTED)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    plain_record_skipped: {"poll-skip": 1},
    committed_record_skipped: {"poll-skip": 1},
    aborted_record_skipped: {},
    open_transaction_ended_the_read: {},
    read_passed_the_write: {"read-your-writes": 1},
    final_read_ended_before_the_marker: {"unseen": 1},
    final_read_passed_the_record: {"lost-write": 1},
    final_read_got_nothing: {"unseen": 1},
}
