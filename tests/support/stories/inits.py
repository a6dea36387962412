"""Histories about which init fences a producer, and when, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.transactions import ONE, READ, A, init, txn

OLD, NEW = 7, 8
"""Producer ids. Epochs of different ids say nothing about which init was later."""


def wrote(s: Any, at: tuple[int, int], *, sent: int = 31, epoch: int | None = 0) -> Any:
    """A transaction of process 1 with one record. It was acknowledged and read."""
    s.send(ONE, 0, transaction=A, at=(sent, at[1]))
    txn(s, A, at, epoch=epoch, producer_id=OLD)
    return s.final({0: ONE}, end=2, **READ)


def claimed_when_its_own_init_ended(s: Any) -> Any:
    """In the same nanosecond, so that real time does not order them."""
    init(s, 1, 0, (1, 10), producer_id=OLD), init(s, 2, 0, (10, 20), producer_id=NEW)
    return wrote(s, (30, 40))


def claimed_when_its_own_init_began(s: Any) -> Any:
    """In the same nanosecond. The epoch says which was later."""
    init(s, 1, 0, (1, 8), producer_id=OLD), init(s, 2, 1, (1, 10), producer_id=OLD)
    return wrote(s, (30, 40))


def claimed_after_an_init_that_ended_when_the_transaction_began(s: Any) -> Any:
    """All of the producer's own init lies in the first nanosecond of its transaction."""
    init(s, 1, 0, (20, 20), producer_id=OLD), init(s, 2, 0, (21, 25), producer_id=NEW)
    return wrote(s, (20, 40), sent=26)


def claimed_between_two_inits_of_its_own(s: Any) -> Any:
    """The second one of its own overlaps that of the other process, and its epoch is higher."""
    init(s, 1, 0, (1, 5), producer_id=OLD), init(s, 1, 2, (10, 20), producer_id=OLD)
    init(s, 2, 1, (12, 14), producer_id=OLD)
    return wrote(s, (30, 40), epoch=2)


def claimed_while_its_own_init_failed(s: Any) -> Any:
    """Its own last init before the transaction that was ok had ended before."""
    init(s, 1, 0, (1, 5), producer_id=OLD), init(s, 1, 1, (8, 25), producer_id=OLD, kind="fail")
    init(s, 2, 0, (10, 20), producer_id=NEW)
    return wrote(s, (30, 40))


def fenced_twice(s: Any) -> Any:
    """The record was sent between the two inits. The first one fenced the producer."""
    init(s, 1, 0, (1, 5), producer_id=OLD), init(s, 2, 1, (10, 20), producer_id=OLD)
    wrote(s, (30, 40))
    init(s, 3, 2, (50, 60), producer_id=OLD)
    return s


def claimed_with_an_epoch_although_that_of_the_producer_is_unknown(s: Any) -> Any:
    """Nothing shows which of the two was later: the producer's own init is not recorded either."""
    init(s, 2, 1, (10, 20), producer_id=OLD)
    return wrote(s, (30, 40), epoch=None)


def fenced_in_a_log_without_readers_of_committed_records(s: Any) -> Any:
    init(s, 2, 1, (10, 20), producer_id=OLD)
    s.send(ONE, 0, transaction=A, at=(31, 40))
    return txn(s, A, (30, 40), producer_id=OLD).final({0: ONE}, end=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    claimed_when_its_own_init_ended: {},
    claimed_when_its_own_init_began: {"zombie-write": 1},
    claimed_after_an_init_that_ended_when_the_transaction_began: {"zombie-write": 1},
    claimed_between_two_inits_of_its_own: {},
    claimed_while_its_own_init_failed: {"zombie-write": 1},
    claimed_with_an_epoch_although_that_of_the_producer_is_unknown: {},
    fenced_in_a_log_without_readers_of_committed_records: {"zombie-write": 1},
    fenced_twice: {"zombie-write": 1},
}
