"""Histories in which a process polled or sent records of a key out of order, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.polls import ONE, THREE, member, three

FIRST = (1, 30)
"""The time of sends that overlap, so that real time does not order them."""


def without_a_key_behind_another_one(s: Any) -> Any:
    """Records without a key have no order of their own."""
    three(s).poll(ONE + 2, 2).poll(ONE, 0, key=5).poll(ONE + 1, 1)
    return s.final(THREE, end=3)


def keyed_record_came_again(s: Any) -> Any:
    """A record of another key was polled between the two polls of offset 2, and offset 1 only by the final read."""
    three(s).poll(ONE + 2, 2, key=4).poll(ONE, 0, key=5).poll(ONE + 2, 2, key=4)
    return s.final(THREE, end=3)


def keyed_record_came_twice(s: Any) -> Any:
    """The step from one record to the next already shows it."""
    return three(s).poll(ONE, 0, key=4).poll(ONE, 0, key=4).final(THREE, end=3)


def keyed_records_went_back_in_the_next_generation(s: Any) -> Any:
    """Only the first record of the new generation counts. The order of a key ends with a generation."""
    member(three(s), "assigned", 1).poll(ONE + 2, 2, key=4, generation=1)
    s.poll(ONE, 0, key=5, generation=2).poll(ONE + 1, 1, key=4, generation=2)
    return s.final(THREE, end=3)


def keyed_send_behind_an_aborted_one(s: Any) -> Any:
    """Only acknowledged sends are promised an order."""
    s.send(ONE, 2, key=4, type="fail", transaction=8, at=FIRST)
    s.send(ONE + 1, 0, key=5, at=FIRST).send(ONE + 2, 1, key=4, at=FIRST)
    return s.final({0: ONE + 1, 1: ONE + 2}, end=3)


def keyed_send_at_an_unknown_offset_between(s: Any) -> Any:
    """The acknowledgement without an offset says nothing. The last one before it counts."""
    s.send(ONE, 2, key=4, at=FIRST).send(ONE + 1, None, key=4, at=FIRST)
    s.send(ONE + 2, 0, key=5, at=FIRST).send(ONE + 3, 1, key=4, at=FIRST)
    return s.final({0: ONE + 2, 1: ONE + 3, 2: ONE, 3: ONE + 1}, end=4)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    without_a_key_behind_another_one: {"nonmonotonic-poll": 1},
    keyed_record_came_again: {"nonmonotonic-poll": 2, "poll-skip": 1},
    keyed_record_came_twice: {"nonmonotonic-poll": 1},
    keyed_records_went_back_in_the_next_generation: {"nonmonotonic-poll": 1},
    keyed_send_behind_an_aborted_one: {},
    keyed_send_at_an_unknown_offset_between: {"nonmonotonic-send": 2},
}
