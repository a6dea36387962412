"""Histories with producers whose transactional id got a new producer id, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.transactions import ONE, READ, TWO, A, B, init, txn


def zombie_of_an_older_producer_id(s: Any) -> Any:
    """Its epochs were exhausted. The init that fenced the zombie returned a new producer id, with epoch 0."""
    init(s, 1, 32_766, (1, 5), producer_id=7), init(s, 2, 0, (10, 20), producer_id=8)
    s.send(ONE, 0, transaction=A, at=(21, 40), type="fail").send(TWO, 1, at=(50, 60))
    txn(s, A, (15, 40), outcome="abort", epoch=32_766, producer_id=7)
    return s.final({1: TWO}, end=2, **READ)


def producer_with_a_new_id(s: Any) -> Any:
    """Its epoch is lower than that of the producer it fenced; an init that overlaps its own has another id."""
    init(s, 1, 32_766, (1, 5), producer_id=7), init(s, 3, 32_767, (12, 22), producer_id=7)
    init(s, 2, 0, (10, 20), producer_id=8)
    s.send(TWO, 0, transaction=B, at=(25, 40), process=2)
    txn(s, B, (24, 40), process=2, epoch=0, producer_id=8)
    return s.final({0: TWO}, end=2, **READ)


def producers_that_claimed_their_id_at_the_same_time(s: Any) -> Any:
    """With one producer id, the lower epoch is the older one, even though its init completed last."""
    init(s, 1, 0, (1, 20), producer_id=7), init(s, 2, 1, (10, 15), producer_id=7)
    s.send(ONE, 0, transaction=A, at=(21, 40))
    txn(s, A, (20, 40), producer_id=7)
    return s.final({0: ONE}, end=2, **READ)


def read_although_nobody_ended_it(s: Any) -> Any:
    """Its client gave up. The coordinator's timeout aborts a transaction."""
    s.send(ONE, 0, at=(10, 50), transaction=A, type="info")
    txn(s, A, (5, 50), kind="info", is_ended=False)
    return s.final({0: ONE}, end=2, **READ)


def ended_by_the_timeout(s: Any) -> Any:
    """Nobody gets it, except a reader without isolation."""
    s.send(ONE, 0, at=(10, 50), transaction=A, type="info")
    txn(s, A, (5, 50), kind="info", is_ended=False)
    s.poll(ONE, 0, at=(60, 65)).send(TWO, 2, process=2)
    return s.final({2: TWO}, end=3, **READ)


def may_have_been_ended(s: Any) -> Any:
    """One client died, possibly after it had requested the end; of another, only the acknowledged end is known."""
    s.send(ONE, 0, at=(10, None), transaction=A, type="info")
    txn(s, A, (5, None), kind="info", is_ended=False)
    s.send(TWO, 2, at=(10, 50), transaction=B, process=2)
    txn(s, B, (5, 50), process=2, name="y", is_ended=False)
    return s.final({0: ONE, 2: TWO}, end=4, **READ)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    zombie_of_an_older_producer_id: {"zombie-write": 1},
    producer_with_a_new_id: {},
    producers_that_claimed_their_id_at_the_same_time: {"zombie-write": 1},
    read_although_nobody_ended_it: {"precommitted-read": 1},
    ended_by_the_timeout: {},
    may_have_been_ended: {},
}
