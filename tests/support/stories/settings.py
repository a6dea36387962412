"""Histories in which an administrator changes settings of a topic or creates it again, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.removals import created, third_remains, three
from workloads.history.schema import NEMESIS

ONE = 1 << 40  # the values of process 1 start here


def altered(
    s: Any, change: str = "config", *, kind: str = "ok", topic: str = "t", at: Any = None, **more: Any
) -> Any:
    """An administrator requested this change. It is in the order of the history, without a time."""
    value = json.dumps({"change": change, **more})
    return s.operation("alter", process=5, type=kind, topic=topic, partition=None, value=value, at=at)


def sampled(s: Any, *, topic: str = "t", node: int = 1, **config: str) -> Any:
    """A broker reported these settings, named with underscores."""
    value = json.dumps({name.replace("_", "."): each for name, each in config.items()})
    s.observations.append({
        "process": 900, "time": s.now, "asked": s.now, "kind": "settings", "topic": topic, "node": node,
        "value": value,
    })  # fmt: skip
    return s


def retention_was_lowered(s: Any) -> Any:
    return third_remains(altered(three(created(s)), retention_ms=0))


def retention_was_lowered_by_name(s: Any) -> Any:
    return third_remains(altered(three(created(s)), config={"retention.ms": "0"}))


def retention_was_limited_in_bytes(s: Any) -> Any:
    return third_remains(altered(three(created(s)), config={"retention.bytes": "100"}))


def retention_may_have_been_lowered(s: Any) -> Any:
    return third_remains(altered(three(created(s)), kind="info", retention_ms=0))


def retention_was_reset(s: Any) -> Any:
    """To the brokers' default, which nobody knows."""
    return third_remains(altered(three(created(s)), config={"retention.ms": None}))


def retention_was_lowered_as_a_broker_saw(s: Any) -> Any:
    return third_remains(sampled(sampled(three(created(s)), retention_ms="-1"), node=2, retention_ms="0"))


def retention_was_lowered_and_raised(s: Any) -> Any:
    s = altered(altered(three(created(s)), retention_ms=0), retention_ms=-1)
    return third_remains(s)


def retention_was_lowered_before_a_crash(s: Any) -> Any:
    """There was no final read, and no broker said where the log began."""
    return altered(three(created(s)), retention_ms=0).poll(ONE + 2, 2)


def lowering_was_refused(s: Any) -> Any:
    return third_remains(altered(three(created(s)), kind="fail", retention_ms=0))


def retention_is_longer_than_the_run(s: Any) -> Any:
    return third_remains(altered(three(created(s)), retention_ms=3_600_000))


def retention_of_another_topic_was_lowered(s: Any) -> Any:
    created(three(created(s)), topic="u")
    return third_remains(sampled(altered(s, topic="u", retention_ms=0), topic="u", retention_ms="0"))


def retention_was_lowered_after_the_final_read(s: Any) -> Any:
    return altered(third_remains(three(created(s))), retention_ms=0)


def middle_is_lost_beside_a_lowered_retention(s: Any) -> Any:
    """Retention removes the beginning of a log, and nothing from the middle."""
    altered(three(created(s)), retention_ms=0)
    return s.final({0: ONE, 2: ONE + 2}, end=3)


def sent_twice(s: Any, **config: str) -> Any:
    """Two records of key 4, and one of key 5 between them."""
    return created(s, **config).send(ONE, 0, key=4).send(ONE + 1, 1, key=5).send(ONE + 2, 2, key=4)


def first_is_gone(s: Any) -> Any:
    return s.final({1: ONE + 1, 2: ONE + 2}, end=3)


def compaction_was_set(s: Any) -> Any:
    return first_is_gone(altered(sent_twice(s), config={"cleanup.policy": "compact"}))


def compaction_may_have_been_set(s: Any) -> Any:
    return first_is_gone(altered(sent_twice(s), kind="info", config={"cleanup.policy": "compact,delete"}))


def compaction_was_set_as_a_broker_saw(s: Any) -> Any:
    return first_is_gone(sampled(sent_twice(s), cleanup_policy="compact"))


def compaction_was_set_by_a_fault(s: Any) -> Any:
    """It had ended before a probe asked."""
    sent_twice(s)
    for stage in ("inject", "heal"):
        value = {"event": "e1", "stage": stage, "target": "topic", "nodes": [1], "effective": True}
        value |= {
            "options": {"settings": {"cleanup.policy": "compact"}},
            "removes_records": True,
            "evidence": {},
        }
        row = {"process": NEMESIS, "type": "info", "topic": None, "partition": None}
        s.operation("configure", value=json.dumps(value), **row)
    return first_is_gone(s)


def compaction_was_unset(s: Any) -> Any:
    """It had been at work before."""
    sent_twice(s, cleanup_policy="compact", min_compaction_lag_ms="0")
    return first_is_gone(altered(s, config={"cleanup.policy": "delete"}))


def compaction_was_refused(s: Any) -> Any:
    return first_is_gone(altered(sent_twice(s), kind="fail", config={"cleanup.policy": "compact"}))


def compaction_of_another_topic_was_set(s: Any) -> Any:
    created(sent_twice(s), topic="u")
    return first_is_gone(altered(s, topic="u", config={"cleanup.policy": "compact"}))


def compaction_was_set_after_the_final_read(s: Any) -> Any:
    return altered(first_is_gone(sent_twice(s)), config={"cleanup.policy": "compact"})


def compaction_has_to_wait(s: Any) -> Any:
    """No record is as old as it has to be to be compacted."""
    return first_is_gone(sent_twice(s, cleanup_policy="compact", min_compaction_lag_ms="3600000"))


def compaction_had_to_wait_until_that_was_changed(s: Any) -> Any:
    sent_twice(s, cleanup_policy="compact", min_compaction_lag_ms="3600000")
    return first_is_gone(altered(s, config={"min.compaction.lag.ms": "0"}))


def compaction_had_to_wait_until_that_was_reset(s: Any) -> Any:
    sent_twice(s, cleanup_policy="compact", min_compaction_lag_ms="3600000")
    return first_is_gone(altered(s, config={"min.compaction.lag.ms": None}))


def compaction_that_has_to_wait_was_set(s: Any) -> Any:
    config = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000"}
    return first_is_gone(altered(sent_twice(s), config=config))


def tombstone_gone(s: Any) -> Any:
    """Key 4 has a value and a tombstone, which are both gone at the end."""
    created(s, cleanup_policy="compact", delete_retention_ms="86400000")
    s.send(ONE, 0, key=4, tombstone=False).send(ONE + 1, 1, key=4, tombstone=True).send(ONE + 2, 2, key=5)
    return s.poll(ONE, 0, key=4).poll(ONE + 1, 1, key=4, tombstone=True).poll(ONE + 2, 2, key=5)


def tombstone_gone_before_its_altered_time(s: Any) -> Any:
    return tombstone_gone(s).final({2: ONE + 2}, end=3)


def tombstone_gone_once_its_time_was_changed(s: Any) -> Any:
    return altered(tombstone_gone(s), config={"delete.retention.ms": "0"}).final({2: ONE + 2}, end=3)


def again(s: Any, *, deletion: str = "ok", creation: str | None = "ok", **config: Any) -> Any:
    """Two records that a reader got; then an administrator deleted the topic, and created it again."""
    created(s, at=(0, 0)).send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0, leader_epoch=3).poll(
        ONE + 1, 1, leader_epoch=3
    )
    altered(s, "delete", kind=deletion, at=(200, 210))
    if creation is not None:
        altered(s, "create", kind=creation, at=(290, 300), partitions=1, **config)
    return s


def afterwards(s: Any, lost: bool = False) -> Any:
    """Offsets and epochs start again, for the same writer and the same reader."""
    s.send(ONE + 7, 0, at=(501, 509)).send(ONE + 8, 1, at=(511, 519))
    s.poll(ONE + 7, 0, at=(521, 529), leader_epoch=0)
    return s.final({0: ONE + 7} | ({} if lost else {1: ONE + 8}), end=2, leader_epoch=0)


def created_again(s: Any) -> Any:
    return afterwards(again(s))


def created_again_after_a_deletion_of_unknown_outcome(s: Any) -> Any:
    """That it could be created shows that it had been deleted."""
    return afterwards(again(s, deletion="info"))


def created_again_by_itself(s: Any) -> Any:
    """Brokers create topics on demand (auto.create.topics.enable)."""
    return afterwards(again(s, creation=None))


def lost_after_it_was_created_again(s: Any) -> Any:
    return afterwards(again(s), lost=True)


def unread_before_it_was_created_again(s: Any) -> Any:
    created(s, at=(0, 0)).send(ONE, 0).send(ONE + 1, 1)
    altered(altered(s, "delete", at=(200, 210)), "create", at=(290, 300), partitions=1)
    return afterwards(s)


def deletion_was_refused(s: Any) -> Any:
    """The topic is the same, so that its offsets cannot start again."""
    again(s, deletion="fail", creation=None)
    return s.final({1: ONE + 1}, end=2)


def may_have_been_deleted(s: Any) -> Any:
    """Nobody knows. What the final read found was there."""
    again(s, deletion="info", creation=None)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def deleted_after_the_final_read(s: Any) -> Any:
    created(s, at=(0, 0)).send(ONE, 0).send(ONE + 1, 1).final({0: ONE}, end=2)
    return altered(s, "delete", at=(200, 210))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    retention_was_lowered: {"expired": 2},
    retention_was_lowered_by_name: {"expired": 2},
    retention_was_limited_in_bytes: {"expired": 2},
    retention_may_have_been_lowered: {"expired": 2},
    retention_was_reset: {"expired": 2},
    retention_was_lowered_as_a_broker_saw: {"expired": 2},
    retention_was_lowered_and_raised: {"expired": 2},
    retention_was_lowered_before_a_crash: {"expired": 2},
    lowering_was_refused: {"lost-write": 2},
    retention_is_longer_than_the_run: {"lost-write": 2},
    retention_of_another_topic_was_lowered: {"lost-write": 2},
    retention_was_lowered_after_the_final_read: {"lost-write": 2},
    middle_is_lost_beside_a_lowered_retention: {"lost-write": 1},
    compaction_was_set: {},
    compaction_may_have_been_set: {},
    compaction_was_set_as_a_broker_saw: {},
    compaction_was_set_by_a_fault: {},
    compaction_was_unset: {},
    compaction_was_refused: {"lost-write": 1},
    compaction_of_another_topic_was_set: {"lost-write": 1},
    compaction_was_set_after_the_final_read: {"lost-write": 1},
    compaction_has_to_wait: {"lost-write": 1},
    compaction_had_to_wait_until_that_was_changed: {},
    compaction_had_to_wait_until_that_was_reset: {},
    compaction_that_has_to_wait_was_set: {"lost-write": 1},
    tombstone_gone_before_its_altered_time: {"lost-write": 1},
    tombstone_gone_once_its_time_was_changed: {},
    created_again: {},
    created_again_after_a_deletion_of_unknown_outcome: {},
    created_again_by_itself: {},
    lost_after_it_was_created_again: {"lost-write": 1},
    unread_before_it_was_created_again: {"expired": 2},
    deletion_was_refused: {"lost-write": 1},
    may_have_been_deleted: {},
    deleted_after_the_final_read: {"lost-write": 1},
}
