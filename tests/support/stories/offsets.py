"""Histories in which a value lies at several offsets or an offset holds several values, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # the values of process 1 start here
TWO = 2 << 40


def two_unknown_sends(s: Any) -> Any:
    return s.send(ONE, None, type="info").send(TWO, None, type="info")


def duplicate(s: Any) -> Any:
    s.send(ONE, 0)
    return s.final({0: ONE, 1: ONE}, end=2)


def duplicate_by_acknowledgement(s: Any) -> Any:
    return s.send(ONE, 0).final({1: ONE}, end=2)


def duplicate_by_an_info_poll(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 5, type="info").final({0: ONE}, end=1)


def not_a_duplicate_in_two_partitions(s: Any) -> Any:
    s.send(ONE, 0).send(ONE, 3, partition=1, process=2)
    return s.final({0: ONE}, end=1).final({3: ONE}, end=4, partition=1)


def inconsistent(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, None, type="info")
    return s.poll(TWO, 0).final({0: ONE}, end=1)


def inconsistent_in_a_poll_that_did_not_return(s: Any) -> Any:
    """The poll began after another one had returned the first value."""
    two_unknown_sends(s).poll(ONE, 0).poll(TWO, 0, process=11, at=(s.now + 1, None), type="info")
    return s.final({0: ONE}, end=1)


def inconsistent_in_one_epoch(s: Any) -> Any:
    return two_unknown_sends(s).poll(ONE, 0, leader_epoch=1).final({0: TWO}, end=1, leader_epoch=1)


def inconsistent_with_the_first_epoch(s: Any) -> Any:
    """No epoch precedes 0, so the acknowledgement belongs to the same epoch."""
    s.send(ONE, 0).send(TWO, None, type="info")
    return s.final({0: TWO}, end=1, leader_epoch=0)


def inconsistent_in_turns(s: Any) -> Any:
    """Two leaders at once: a read from the old leader follows a read from the new one."""
    two_unknown_sends(s).poll(ONE, 0, leader_epoch=1).poll(TWO, 0, leader_epoch=2, process=11)
    return s.poll(ONE, 0, leader_epoch=1, process=12).final({0: TWO}, end=1, leader_epoch=2)


def inconsistent_backwards(s: Any) -> Any:
    return two_unknown_sends(s).poll(ONE, 0, leader_epoch=2).final({0: TWO}, end=1, leader_epoch=1)


def inconsistent_after_a_reuse(s: Any) -> Any:
    two_unknown_sends(s).send(ONE + 1, None, type="info").poll(ONE, 0, leader_epoch=1)
    return s.poll(TWO, 0, leader_epoch=2, process=11).final({0: ONE + 1}, end=1, leader_epoch=2)


def reused(s: Any) -> Any:
    return two_unknown_sends(s).poll(ONE, 0, leader_epoch=1).final({0: TWO}, end=1, leader_epoch=2)


def reused_after_an_acknowledgement(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, None, type="info")
    return s.final({0: TWO}, end=1, leader_epoch=2)


def reused_twice(s: Any) -> Any:
    two_unknown_sends(s).send(ONE + 1, None, type="info").poll(ONE, 0, leader_epoch=1)
    return s.poll(TWO, 0, leader_epoch=2, process=11).final({0: ONE + 1}, end=1, leader_epoch=3)


def reused_while_a_record_waited_in_a_buffer(s: Any) -> Any:
    """The old record was fetched before the truncation, and polled after the new one."""
    two_unknown_sends(s).poll(TWO, 0, leader_epoch=2, process=11, at=(31, 35), fetched=34)
    s.poll(ONE, 0, leader_epoch=1, at=(41, 45), fetched=22, node=1)
    return s.final({0: TWO}, end=1, leader_epoch=2)


def a_later_epoch_read_the_same(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0, leader_epoch=1).final({0: ONE}, end=1, leader_epoch=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    duplicate: {"duplicate": 1},
    duplicate_by_acknowledgement: {"duplicate": 1},
    duplicate_by_an_info_poll: {"duplicate": 1},
    not_a_duplicate_in_two_partitions: {},
    inconsistent: {"inconsistent-offsets": 1, "lost-read": 1},
    inconsistent_in_a_poll_that_did_not_return: {"inconsistent-offsets": 1, "lost-read": 1},
    inconsistent_in_one_epoch: {"inconsistent-offsets": 1, "lost-read": 1},
    inconsistent_with_the_first_epoch: {"inconsistent-offsets": 1, "lost-write": 1},
    inconsistent_in_turns: {"inconsistent-offsets": 1, "lost-read": 1},
    inconsistent_backwards: {"inconsistent-offsets": 1, "lost-read": 1},
    inconsistent_after_a_reuse: {"inconsistent-offsets": 1, "lost-read": 2},
    reused: {"offset-reuse": 1, "lost-read": 1},
    reused_after_an_acknowledgement: {"offset-reuse": 1, "lost-write": 1},
    reused_twice: {"offset-reuse": 1, "lost-read": 2},
    reused_while_a_record_waited_in_a_buffer: {"offset-reuse": 1, "lost-read": 1},
    a_later_epoch_read_the_same: {},
}
