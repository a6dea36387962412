"""Histories in which a topic is deleted and created again, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.removals import created, fault
from workloads.history.schema import NEMESIS

ONE = 1 << 40  # the values of process 1 start here


def recreated(s: Any, *, effective: bool = True, **config: str) -> Any:
    """From 200 to 300 ns, by a fault whose verification took until 400 ns."""
    created(s, event="deleted", at=(200, 210))
    created(s, event="recreated", at=(290, 300), **config)
    for stage, at in (("inject", (190, 400)), ("heal", (400, 401))):
        value = {"event": "e1", "stage": stage, "target": "topic", "nodes": [1], "effective": effective}
        value |= {"removes_records": True, "evidence": {"topic": "t"} if stage == "inject" else {}}
        s.operation(
            "recreate-topic",
            process=NEMESIS,
            type="info",
            topic=None,
            partition=None,
            value=json.dumps(value),
            at=at,
        )
    return s


def before(s: Any) -> Any:
    """Two records, which a reader got."""
    created(s).send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0, leader_epoch=3).poll(ONE + 1, 1, leader_epoch=3)
    return s


def after(s: Any) -> Any:
    """Offsets and epochs start again, for the same writer and the same reader."""
    s.send(ONE + 7, 0, at=(501, 509)).send(ONE + 8, 1, at=(511, 519))
    return s.poll(ONE + 7, 0, at=(521, 529), leader_epoch=0)


def recreated_topic(s: Any) -> Any:
    after(recreated(before(s)))
    return s.final({0: ONE + 7, 1: ONE + 8}, end=2, leader_epoch=0)


def recreated_under_load(s: Any) -> Any:
    """Operations during the recreation belong to either log: sends before, within and after the two requests, and
    polls that return records of both logs."""
    before(s)
    s.send(ONE + 2, 2, at=(195, 205)).send(ONE + 3, 3, at=(211, 219)).send(
        ONE + 4, None, type="info", at=(221, 229)
    )
    s.send(ONE + 5, 0, at=(305, 309)).send(ONE + 6, 1, at=(390, 410))
    s.poll(ONE + 2, 2, at=(221, 229), leader_epoch=3).poll(ONE + 5, 0, at=(310, 319), leader_epoch=0)
    recreated(s).send(ONE + 7, 2, at=(501, 509)).send(ONE + 8, 3, at=(511, 519))
    return s.final({0: ONE + 5, 1: ONE + 6, 2: ONE + 7, 3: ONE + 8}, end=4, leader_epoch=0)


def recreated_while_a_record_waited_in_a_buffer(s: Any) -> Any:
    """It was fetched from the log before, and polled after the recreation."""
    created(s).send(ONE, 0).poll(ONE, 0, at=(491, 499), fetched=25, leader_epoch=3)
    after(recreated(s))
    return s.final({0: ONE + 7, 1: ONE + 8}, end=2, leader_epoch=0)


def acknowledged_without_offset_after_a_recreation(s: Any) -> Any:
    """The first send to the new log. The next one comes after a record of the log before, at a higher offset."""
    recreated(before(s)).send(ONE + 7, None, at=(501, 509)).send(ONE + 8, 1, at=(511, 519))
    return s.final({0: ONE + 7, 1: ONE + 8}, end=2, leader_epoch=0)


def unread_before_a_recreation(s: Any) -> Any:
    """Nobody got the first and the last of three records before the topic was deleted."""
    created(s).send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2).poll(ONE + 1, 1, leader_epoch=3)
    after(recreated(s))
    return s.final({0: ONE + 7, 1: ONE + 8}, end=2, leader_epoch=0)


def deleted_at_the_end(s: Any) -> Any:
    """As at the end of each run. No other topic was created by that name."""
    created(s).send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0)
    return created(s, event="deleted", at=(200, 210))


def lost_after_a_recreation(s: Any) -> Any:
    after(recreated(before(s)))
    return s.final({0: ONE + 7}, end=2, leader_epoch=0)


def went_back_before_a_recreation(s: Any) -> Any:
    before(s).poll(ONE, 0, leader_epoch=3)
    after(recreated(s))
    return s.final({0: ONE + 7, 1: ONE + 8}, end=2, leader_epoch=0)


def recreated_without_proof(s: Any) -> Any:
    """Some broker may serve the former log for ever."""
    after(recreated(before(s), effective=False))
    return s.final({0: ONE + 7}, end=2, leader_epoch=0)


def beginning_gone_after_a_recreation(s: Any) -> Any:
    """The settings of the new topic keep all records. The recreation removed none of them."""
    after(recreated(before(s)))
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def deleted_after_a_recreation(s: Any) -> Any:
    after(recreated(before(s)))
    fault(s, "delete-records", topic="t", partition=0, before=1, start=1)
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def deleted_before_a_recreation(s: Any) -> Any:
    """Nothing of the new topic was deleted."""
    fault(before(s), "delete-records", topic="t", partition=0, before=1, start=1)
    after(recreated(s))
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def compacted_after_a_recreation(s: Any) -> Any:
    """The former topic was not compacted."""
    recreated(before(s), cleanup_policy="compact")
    s.send(ONE + 7, 0, key=4, at=(501, 509)).send(ONE + 8, 1, key=4, at=(511, 519))
    s.poll(ONE + 7, 0, key=4, at=(521, 529), leader_epoch=0)
    return s.final({1: ONE + 8}, end=2, leader_epoch=0, key=4)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    recreated_topic: {},
    recreated_under_load: {},
    recreated_while_a_record_waited_in_a_buffer: {},
    acknowledged_without_offset_after_a_recreation: {},
    unread_before_a_recreation: {"expired": 2},
    deleted_at_the_end: {"unseen": 1},
    lost_after_a_recreation: {"lost-write": 1},
    went_back_before_a_recreation: {"nonmonotonic-poll": 1},
    recreated_without_proof: {},
    beginning_gone_after_a_recreation: {"lost-write": 1},
    deleted_after_a_recreation: {},
    deleted_before_a_recreation: {"lost-write": 1},
    compacted_after_a_recreation: {},
}
