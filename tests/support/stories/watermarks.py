"""Histories in which readers get records at or above the high watermark, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # the values of process 1 start here


def sampled(
    s: Any, high_watermark: int | None, at: tuple[int, int], *, node: int = 1, leader: int = 1, epoch: int = 4
) -> Any:
    """What a broker reports of the log. at: when it was asked, and when the answer had arrived."""
    s.observations.append({
        "process": 900, "asked": at[0], "time": at[1], "kind": "partition", "topic": "t", "partition": 0,
        "node": node, "leader": leader, "leader_epoch": epoch, "high_watermark": high_watermark,
    })  # fmt: skip
    return s


def polled(s: Any, *, at: tuple[int, int] = (11, 19), node: int | None = 1) -> Any:
    """The record at offset 7 arrives in epoch 4."""
    s.send(ONE, None, type="info", at=(1, 9)).poll(ONE, 7, leader_epoch=4, node=node, at=at, fetched=18)
    return s.final({7: ONE}, end=8)


def read_above_the_watermark(s: Any) -> Any:
    sampled(sampled(s, 7, (20, 25)), 9, (30, 35))
    return polled(s)


def read_above_the_watermark_before_it_was_polled(s: Any) -> Any:
    """The poll returned the record from the client's buffer after the broker had answered."""
    sampled(sampled(s, 6, (19, 25)), 9, (30, 35))
    return polled(s, at=(41, 49))


def read_below_the_watermark(s: Any) -> Any:
    sampled(sampled(s, 8, (20, 25)), 8, (30, 35))
    return polled(s)


def watermark_of_an_earlier_time(s: Any) -> Any:
    """The request was sent at the nanosecond in which the record arrived."""
    sampled(sampled(sampled(s, 5, (10, 12)), 5, (18, 25)), 9, (30, 35))
    return polled(s)


def watermark_of_another_broker(s: Any) -> Any:
    """Followers, and a leader of another epoch, may know less."""
    for node, leader, epoch in ((2, 2, 4), (1, 2, 4), (1, 1, 5), (1, 1, 3)):
        for time in (20, 30):
            sampled(s, 5, (time, time + 5), node=node, leader=leader, epoch=epoch)
    return polled(s)


def watermark_of_a_leader_that_was_replaced(s: Any) -> Any:
    """It may have followed another leader already when it answered for its log. Of the last answer, nothing shows
    that it was still the leader."""
    sampled(sampled(s, 5, (20, 25)), 5, (30, 35), leader=2, epoch=5)
    sampled(sampled(s, 5, (40, 45)), 5, (50, 55), epoch=5)
    return polled(sampled(s, 5, (60, 65)))


def read_from_an_unknown_broker(s: Any) -> Any:
    sampled(sampled(sampled(s, None, (20, 25)), 5, (30, 35)), 9, (40, 45))
    return polled(s, node=None)


def read_above_the_lowest_watermark(s: Any) -> Any:
    for mark, time in ((9, 20), (7, 30), (9, 40), (9, 50)):
        sampled(s, mark, (time, time + 5))
    return polled(s)


def read_above_the_watermark_with_one_of_two_records(s: Any) -> Any:
    sampled(sampled(s, 7, (20, 25)), 9, (30, 35))
    s.send(ONE + 1, 6, at=(1, 9)).poll(
        ONE + 1, 6, leader_epoch=4, node=1, at=(11, 19), fetched=18, op=1 << 61
    )
    s.send(ONE, None, type="info", at=(1, 9))
    s.poll(ONE, 7, leader_epoch=4, node=1, at=(11, 19), fetched=18, op=1 << 61)
    return s.final({6: ONE + 1, 7: ONE}, end=8)


def watermark_between_two_responses_of_a_poll(s: Any) -> Any:
    """The record at offset 7 arrived after the broker had answered."""
    sampled(sampled(s, 7, (20, 25)), 9, (40, 45))
    s.send(ONE + 1, 6, at=(1, 9)).send(ONE, None, type="info", at=(1, 9))
    for value, offset, fetched in ((ONE + 1, 6, 18), (ONE, 7, 30)):
        s.poll(value, offset, leader_epoch=4, node=1, at=(11, 39), fetched=fetched, op=1 << 61)
    return s.final({6: ONE + 1, 7: ONE}, end=8)


def read_above_the_watermark_while_another_broker_sees_a_new_leader(s: Any) -> Any:
    sampled(sampled(s, 7, (20, 25)), None, (24, 27), node=2, leader=2, epoch=5)
    return polled(sampled(s, 9, (30, 35)))


def watermark_of_a_later_epoch(s: Any) -> Any:
    return polled(sampled(sampled(s, 5, (20, 25), epoch=5), 5, (30, 35), epoch=5))


def watermark_of_a_leader_that_then_was_none(s: Any) -> Any:
    return polled(sampled(sampled(s, 5, (20, 25)), 5, (30, 35), leader=-1))


def watermark_of_a_broker_that_was_no_leader_yet(s: Any) -> Any:
    return polled(sampled(sampled(s, 5, (20, 25), leader=-1), 9, (30, 35)))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    read_above_the_watermark: {"read-above-watermark": 1},
    read_above_the_watermark_before_it_was_polled: {"read-above-watermark": 1},
    read_below_the_watermark: {},
    watermark_of_an_earlier_time: {},
    watermark_of_another_broker: {},
    watermark_of_a_leader_that_was_replaced: {"two-leaders-in-epoch": 1},
    read_from_an_unknown_broker: {},
    read_above_the_lowest_watermark: {"read-above-watermark": 1, "watermark-regression": 1},
    read_above_the_watermark_with_one_of_two_records: {"read-above-watermark": 1},
    watermark_between_two_responses_of_a_poll: {},
    read_above_the_watermark_while_another_broker_sees_a_new_leader: {"read-above-watermark": 1},
    watermark_of_a_later_epoch: {},
    watermark_of_a_leader_that_then_was_none: {},
    watermark_of_a_broker_that_was_no_leader_yet: {},
}
