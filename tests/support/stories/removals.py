"""Histories in which the beginning of a log is gone, with and without a cause that the run recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from workloads.history.schema import HARNESS, NEMESIS

ONE = 1 << 40  # the values of process 1 start here
TWO = 2 << 40
DAYS = {"cleanup.policy": "delete", "retention.ms": str(7 * 86_400_000), "retention.bytes": "-1"}
"""Kafka's defaults: a week, longer than any run."""


def created(s: Any, *, event: str = "created", topic: str = "t", at: Any = None, **config: str) -> Any:
    """The row of a topic with Kafka's defaults and the given settings, named with underscores."""
    settings = DAYS | {name.replace("_", "."): value for name, value in config.items()}
    value = json.dumps({"event": event, "id": "a", "config": settings})
    return s.operation("topic", process=HARNESS, topic=topic, partition=None, value=value, at=at)


def fault(s: Any, f: str, **evidence: Any) -> Any:
    """A fault that may remove records, with what its verification saw."""
    for stage in ("inject", "heal"):
        value = {"event": f, "stage": stage, "target": "one", "nodes": [], "effective": True}
        value |= {"removes_records": True, "evidence": evidence if stage == "inject" else {}}
        s.operation(f, process=NEMESIS, type="info", topic=None, partition=None, value=json.dumps(value))
    return s


def observed(s: Any, log_start: int, *, partition: int = 0) -> Any:
    s.observations.append({
        "process": 900, "time": s.now, "asked": s.now, "kind": "partition", "topic": "t", "partition": partition,
        "node": 1, "leader": -1, "leader_epoch": 0, "log_start": log_start,
    })  # fmt: skip
    return s


def three(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2)


def third_remains(s: Any, start: int = 2) -> Any:
    """Nobody read the first two."""
    return s.final({2: ONE + 2}, start=start, end=3)


def beginning_gone(s: Any) -> Any:
    return third_remains(three(created(s)).poll(ONE, 0))


def beginning_gone_with_endless_retention(s: Any) -> Any:
    return third_remains(three(created(s, retention_ms="-1")))


def beginning_gone_that_was_read(s: Any) -> Any:
    created(s).send(ONE, None, type="info").send(ONE + 2, 2).poll(ONE, 0)
    return third_remains(s)


def beginning_expired_by_time(s: Any) -> Any:
    return third_remains(three(created(s, retention_ms="0")))


def beginning_expired_by_size(s: Any) -> Any:
    return third_remains(three(created(s, retention_bytes="100")))


def beginning_expired_by_compaction(s: Any) -> Any:
    return third_remains(three(created(s, cleanup_policy="compact,delete")))


def beginning_expired_after_a_fault(s: Any) -> Any:
    return third_remains(three(fault(created(s), "delete-records")))


def beginning_expired_by_unknown_settings(s: Any) -> Any:
    value = json.dumps({"event": "created", "id": None, "config": {}})
    s.operation("topic", process=HARNESS, partition=None, value=value)
    created(s, topic="other")
    return third_remains(three(s))


def settings_of_a_deleted_topic(s: Any) -> Any:
    """What is known before a deletion says nothing about the time before."""
    return created(third_remains(three(s)), event="deleted")


def acknowledged_without_offset_and_expired(s: Any) -> Any:
    s.send(ONE, None).send(ONE + 1, None).send(ONE + 2, 2).poll(ONE, 0)
    return third_remains(s)


def acknowledged_without_offset_and_lost(s: Any) -> Any:
    """It was read beyond the log start."""
    s.send(ONE, None).send(ONE + 2, 2).poll(ONE, 2)
    return third_remains(s)


def acknowledged_without_offset_and_unseen(s: Any) -> Any:
    """There was no final read, and no reader shows where it may have been."""
    s.send(ONE, None).send(ONE + 2, 2).poll(ONE + 2, 2)
    return fault(s, "delete-records", topic="t", partition=0, start=1)


def deleted_before_anyone_read(s: Any) -> Any:
    """The run was interrupted: nothing but the fault shows the log start. Offset 1 is beyond it."""
    three(created(s)).send(ONE, 0, partition=1, process=2)
    fault(s, "delete-records", topic="t", partition=0, start=1)
    return s.poll(ONE + 2, 2).poll(ONE, 0, partition=1)


def deleted_before_anyone_read_at_an_unknown_offset(s: Any) -> Any:
    return fault(three(created(s)), "delete-records", error="unknown").poll(ONE + 2, 2)


def deleted_before_anyone_read_as_a_broker_saw(s: Any) -> Any:
    return observed(three(s).poll(ONE + 2, 2), 1)


def expired_without_final_read(s: Any) -> Any:
    return three(created(s, retention_ms="0")).poll(ONE + 2, 2)


def expired_at_the_top_without_final_read(s: Any) -> Any:
    return created(s, retention_ms="0").send(ONE, 0).send(TWO, 0).poll(TWO, 0)


def deleted_more_than_asked(s: Any) -> Any:
    """The run asked for offset 1, and the log starts at 2."""
    fault(three(created(s)), "delete-records", topic="t", partition=0, before=1, start=2)
    return third_remains(s)


def reader_went_on_at_the_log_start(s: Any) -> Any:
    """Offset 1 was read before it was removed, with offset 0. The second reader finds offset 2 next."""
    three(created(s)).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE + 2, 2).poll(ONE, 0, process=11)
    fault(s, "delete-records", topic="t", partition=0, before=2, start=2).poll(ONE + 2, 2, process=11)
    return third_remains(s)


def reader_skipped_above_the_log_start(s: Any) -> Any:
    """Only offset 0 was removed."""
    three(created(s)).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE + 2, 2).poll(ONE, 0, process=11)
    fault(s, "delete-records", topic="t", partition=0, before=1, start=1).poll(ONE + 2, 2, process=11)
    return s.final({1: ONE + 1, 2: ONE + 2}, start=1, end=3)


def transaction_of_which_a_part_is_gone(s: Any, *, before: int = 2) -> Any:
    """A reader got the first record of the transaction, and went on at the log start."""
    created(s).send(ONE, 0, transaction=70).send(ONE + 1, 1, transaction=70).send(ONE + 2, 2)
    value = json.dumps({"transactional_id": "x", "epoch": 0, "outcome": "commit", "ending": s.now})
    s.operation("txn", process=1, topic=None, partition=None, value=value)
    s.operations[-1]["op"] = 70
    s.poll(ONE, 0, committed=True)
    fault(s, "delete-records", topic="t", partition=0, before=before, start=before)
    s.poll(ONE + 2, 2, committed=True)
    rest = {1: ONE + 1, 2: ONE + 2} if before == 1 else {2: ONE + 2}
    return s.final(rest, start=before, end=3, committed=True)


def transaction_torn_above_the_log_start(s: Any) -> Any:
    return transaction_of_which_a_part_is_gone(s, before=1)


def deleted_before_its_session_read(s: Any) -> Any:
    created(s).send(ONE, 0, session=7).send(ONE + 1, 1).send(ONE + 2, 2, session=7)
    s.poll(ONE, 0, process=11).poll(ONE + 1, 1, process=11)
    fault(s, "delete-records", topic="t", partition=0, before=2, start=2)
    s.poll(ONE + 2, 2, session=7, process=12)
    s.operation("read", process=12, session=7, start_offset=0, end_offset=3)
    return third_remains(s)


def own_write_missed_above_the_log_start(s: Any) -> Any:
    """Only offset 0 was removed. The session's write is the first record that is left."""
    created(s).send(TWO, 0)
    fault(s, "delete-records", topic="t", partition=0, before=1, start=1)
    s.send(ONE, 1, session=7)
    s.operation("read", process=12, session=7, start_offset=1, end_offset=1)
    return s.final({1: ONE}, start=1, end=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    beginning_gone: {"lost-write": 2},
    beginning_gone_with_endless_retention: {"lost-write": 2},
    beginning_gone_that_was_read: {"lost-read": 1},
    beginning_expired_by_time: {"expired": 2},
    beginning_expired_by_size: {"expired": 2},
    beginning_expired_by_compaction: {"expired": 2},
    beginning_expired_after_a_fault: {"expired": 2},
    beginning_expired_by_unknown_settings: {"expired": 2},
    settings_of_a_deleted_topic: {"expired": 2},
    acknowledged_without_offset_and_expired: {"expired": 1},
    acknowledged_without_offset_and_lost: {"lost-write": 1, "inconsistent-offsets": 1},
    acknowledged_without_offset_and_unseen: {"unseen": 1},
    deleted_before_anyone_read: {"lost-write": 1, "expired": 1},
    deleted_before_anyone_read_at_an_unknown_offset: {"expired": 2},
    deleted_before_anyone_read_as_a_broker_saw: {"lost-write": 1, "expired": 1},
    expired_at_the_top_without_final_read: {"expired": 1, "inconsistent-offsets": 1},
    expired_without_final_read: {"expired": 2},
    deleted_more_than_asked: {"expired": 1, "lost-write": 1},
    reader_went_on_at_the_log_start: {},
    reader_skipped_above_the_log_start: {"poll-skip": 1},
    transaction_of_which_a_part_is_gone: {"expired": 1},
    transaction_torn_above_the_log_start: {"torn-transaction": 1, "poll-skip": 1},
    deleted_before_its_session_read: {},
    own_write_missed_above_the_log_start: {"read-your-writes": 1, "expired": 1},
}
