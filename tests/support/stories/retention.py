"""Histories in which settings, faults or samples differ in which records may be gone, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.recreations import after, before, recreated
from tests.support.stories.removals import DAYS, ONE, TWO, created, fault, observed, third_remains, three
from workloads.history.schema import HARNESS, NEMESIS

MS = 1_000_000
"""In ns."""


def beginning_expired_within_the_run(s: Any) -> Any:
    """The last record of the run came 2 ms after the topic was created; records stay for 1 ms."""
    three(created(s, retention_ms="1")).send(TWO, 3, at=(2 * MS, 2 * MS + 5)).send(TWO + 1, 0, partition=1)
    s.records[-1] |= {"invoked": 50, "completed": 60}
    return s.final({2: ONE + 2, 3: TWO}, start=2, end=4)


def beginning_gone_at_the_limit_of_its_time(s: Any) -> Any:
    """The last record of the run came 1 ms after the request to create the topic."""
    three(created(s, retention_ms="1", at=(MS // 2, MS // 2 + 5))).now = MS
    third_remains(s).records[-1] |= {"invoked": MS + 2, "completed": MS // 2 + MS}
    return s


def beginning_expired_by_a_size_of_zero(s: Any) -> Any:
    return third_remains(three(created(s, retention_bytes="0")))


def expired_by_a_setting_that_is_not_known(s: Any) -> Any:
    """A log for each setting. Nobody read it at the end."""
    for partition, missing in enumerate(DAYS):
        topic = f"t{partition}"
        config = {name: value for name, value in DAYS.items() if name != missing}
        value = json.dumps({"event": "created", "id": "a", "config": config})
        s.operation("topic", process=HARNESS, topic=topic, partition=None, value=value)
        s.send(ONE + 2 * partition, 0, topic=topic).send(ONE + 2 * partition + 1, 1, topic=topic)
        s.poll(ONE + 2 * partition + 1, 1, topic=topic)
    return s


def beginning_gone_after_a_fault_that_removes_nothing(s: Any) -> Any:
    return third_remains(three(created(s).fault("inject").fault("heal")))


def beginning_expired_after_one_of_two_faults(s: Any) -> Any:
    """Of one of them, it is not known what it deleted."""
    fault(three(created(s)), "delete-records", topic="t", partition=0, before=1, start=1)
    return third_remains(fault(s, "delete-records", error="unknown"))


def beginning_deleted_twice(s: Any) -> Any:
    for start in (2, 1):
        fault(
            three(s) if start == 2 else s, "delete-records", topic="t", partition=0, before=start, start=start
        )
    return third_remains(created(s))


def deleted_before_anyone_read_as_a_broker_saw_at_last(s: Any) -> Any:
    return observed(observed(three(s).poll(ONE + 2, 2), 0), 1)


def lost_between_two_reads(s: Any) -> Any:
    return three(s).poll(ONE, 0).poll(ONE + 2, 2)


def unseen_by_a_final_read_of_both_kinds(s: Any) -> Any:
    """Where any of its polls waits for open transactions, the log may be longer than the final read found."""
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2)
    s.final({0: ONE, 1: ONE + 1}, end=2, committed=False).records[-1]["committed"] = True
    return s


def lost_beside_a_reader_of_committed_records(s: Any) -> Any:
    """The final read was none."""
    return three(s).poll(ONE, 0, committed=True).final({0: ONE, 1: ONE + 1}, end=2)


def read_and_gone_at_the_end_of_all_phases(s: Any) -> Any:
    s.harness("phase", {"phase": "steady"}).send(ONE, None, type="info").poll(ONE, 5)
    return s.harness("phase", {"phase": "final"}).final({}, end=0)


def recreation(s: Any, at: tuple[int, int], *, f: str = "recreate-topic") -> Any:
    """A fault that may remove records, and does not say which."""
    for stage, time in (("inject", at), ("heal", (at[1], at[1] + 1))):
        value = {"event": "e2", "stage": stage, "target": "topic", "nodes": [1], "effective": True}
        more: dict[str, Any] = {"process": NEMESIS, "type": "info", "topic": None, "partition": None}
        s.operation(f, value=json.dumps(value | {"removes_records": True, "evidence": {}}), at=time, **more)
    return s


def second_record_remains(s: Any) -> Any:
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def unseen_at_the_end_after_a_recreation(s: Any) -> Any:
    """The run deletes its topic at the end; it was created again only before."""
    after(recreated(before(s)))
    return created(s, event="deleted", at=(900, 910))


def unseen_before_another_topic_was_recreated(s: Any) -> Any:
    """The run deleted the topic for good."""
    created(created(s).send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0), event="deleted", at=(200, 210))
    created(s, event="deleted", topic="u", at=(220, 230))
    return created(s, event="recreated", topic="u", at=(290, 300))


def beginning_expired_by_half_a_recreation(s: Any) -> Any:
    """The topic was not created again, as far as the run recorded."""
    return third_remains(recreation(three(created(s)), (190, 400)))


def beginning_removed_by_another_fault_during_a_recreation(s: Any) -> Any:
    after(recreation(recreated(before(s)), (250, 420), f="delete-records"))
    return second_record_remains(s)


def beginning_removed_by_half_a_recreation_after_a_whole_one(s: Any) -> Any:
    recreated(before(s)), after(s)
    return second_record_remains(recreation(s, (600, 700)))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    beginning_expired_within_the_run: {"expired": 2, "unseen": 1},
    beginning_gone_at_the_limit_of_its_time: {"lost-write": 2},
    beginning_expired_by_a_size_of_zero: {"expired": 2},
    expired_by_a_setting_that_is_not_known: {"expired": 3},
    beginning_gone_after_a_fault_that_removes_nothing: {"lost-write": 2},
    beginning_expired_after_one_of_two_faults: {"expired": 2},
    beginning_deleted_twice: {"expired": 2},
    deleted_before_anyone_read_as_a_broker_saw_at_last: {"lost-write": 1, "expired": 1},
    lost_between_two_reads: {"lost-write": 1},
    unseen_by_a_final_read_of_both_kinds: {"unseen": 1},
    lost_beside_a_reader_of_committed_records: {"lost-write": 1},
    read_and_gone_at_the_end_of_all_phases: {"lost-read": 1},
    unseen_at_the_end_after_a_recreation: {"unseen": 1},
    unseen_before_another_topic_was_recreated: {"unseen": 1},
    beginning_expired_by_half_a_recreation: {"expired": 2},
    beginning_removed_by_another_fault_during_a_recreation: {},
    beginning_removed_by_half_a_recreation_after_a_whole_one: {},
}
