"""Histories in which a reader passes an acknowledged write, and how many writes are certainly lost while the run goes
on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories import removals
from tests.support.stories.removals import ONE, TWO, created

LOST = ONE + 1
"""The write at offset 1 that nobody polls."""


def _begun(s: Any, **config: str) -> Any:
    return created(s, **config).send(ONE, 0).send(LOST, 1).poll(ONE, 0, leader_epoch=1)


def _overwrite(s: Any) -> Any:
    return s.send(TWO, 1).poll(TWO, 1, leader_epoch=2)


def overwritten(s: Any) -> Any:
    return _overwrite(_begun(s))


def left_out(s: Any) -> Any:
    return _begun(s).send(ONE + 2, 2).poll(ONE + 2, 2, leader_epoch=2)


def left_out_with_another_one(s: Any) -> Any:
    return _begun(s).send(ONE + 2, 2).send(ONE + 3, 3).poll(ONE + 3, 3, leader_epoch=2)


def overwritten_with_endless_retention(s: Any) -> Any:
    return _overwrite(_begun(s, retention_ms="-1"))


def overwritten_above_what_was_deleted(s: Any) -> Any:
    return removals.fault(overwritten(s), "delete-records", topic="t", partition=0, before=1)


def proved_by_another_reader(s: Any) -> Any:
    _concurrent(s)
    return s.send(TWO, 3).poll(TWO, 3, leader_epoch=2, process=11)


def _concurrent(s: Any) -> Any:
    """The record behind the lost write was sent before that was acknowledged."""
    created(s).send(ONE, 0).send(LOST, 1, at=(30, 50)).send(ONE + 2, 2, at=(40, 60))
    return s.poll(ONE, 0, leader_epoch=1).poll(ONE + 2, 2, leader_epoch=2)


def nothing_was_sent_later(s: Any) -> Any:
    return _concurrent(s)


def sent_at_the_same_time(s: Any) -> Any:
    created(s).send(ONE, 0).send(LOST, 1, at=(30, 40)).send(ONE + 2, 2, at=(40, 60))
    return s.poll(ONE, 0, leader_epoch=1).poll(ONE + 2, 2, leader_epoch=2)


def sent_later_in_another_epoch(s: Any) -> Any:
    return _concurrent(s).send(TWO, 3).poll(TWO, 3, leader_epoch=3)


def sent_later_below_the_step(s: Any) -> Any:
    return _concurrent(s).send(TWO, 1).poll(TWO, 1, leader_epoch=2, process=11)


def sent_later_to_another_partition(s: Any) -> Any:
    return _concurrent(s).send(TWO, 3, partition=1).poll(TWO, 3, leader_epoch=2, process=11)


def read_later_with_damage(s: Any) -> Any:
    return _concurrent(s).send(TWO, 3).poll(TWO, 3, leader_epoch=2, process=11, error="misrouted")


def polled_by_another_reader(s: Any) -> Any:
    return overwritten(s).poll(LOST, 1, process=11, leader_epoch=1)


def polled_elsewhere(s: Any) -> Any:
    return overwritten(s).poll(LOST, 4, process=11, leader_epoch=2)


def of_unknown_outcome(s: Any) -> Any:
    created(s).send(ONE, 0).send(LOST, 1, type="info").poll(ONE, 0, leader_epoch=1)
    return _overwrite(s)


def acknowledged_without_offset(s: Any) -> Any:
    created(s).send(ONE, 0).send(LOST, None).poll(ONE, 0, leader_epoch=1)
    return _overwrite(s)


def reader_began_above(s: Any) -> Any:
    return created(s).send(ONE, 0).send(LOST, 1).send(ONE + 2, 2).poll(ONE + 2, 2, leader_epoch=2)


def reader_began_there(s: Any) -> Any:
    return _overwrite(created(s).send(ONE, 0).send(LOST, 1)).send(TWO + 1, 2).poll(TWO + 1, 2, leader_epoch=2)


def reader_ended_below(s: Any) -> Any:
    return _begun(s).send(ONE + 2, 2).poll(ONE + 2, 2, leader_epoch=2, process=11)


def damaged_there(s: Any) -> Any:
    s = _begun(s).poll(None, 1, leader_epoch=2, error="corrupt")
    return s.send(ONE + 2, 2).poll(ONE + 2, 2, leader_epoch=2)


def misrouted_there(s: Any) -> Any:
    s = _begun(s).poll(TWO, 1, leader_epoch=2, error="misrouted")
    return s.send(ONE + 2, 2).poll(ONE + 2, 2, leader_epoch=2)


def passed_in_another_partition(s: Any) -> Any:
    s = _begun(s).send(TWO, 0, partition=1).send(TWO + 1, 2, partition=1)
    return s.poll(TWO, 0, leader_epoch=2, partition=1).poll(TWO + 1, 2, leader_epoch=2, partition=1)


def _concurrent_in_two(s: Any, **other: Any) -> Any:
    """In the other log, a record behind the same offset was sent later, in the same epoch."""
    if "topic" in other:
        created(s, topic=other["topic"])
    _concurrent(s).send(TWO, 0, **other).poll(TWO, 0, leader_epoch=2, **other)
    return s.send(TWO + 1, 2, **other).poll(TWO + 1, 2, leader_epoch=2, **other)


def proved_in_another_partition(s: Any) -> Any:
    return _concurrent_in_two(s, partition=1)


def proved_in_another_topic(s: Any) -> Any:
    return _concurrent_in_two(s, topic="u")


def sent_later_to_another_topic(s: Any) -> Any:
    """A record of the same epoch, at a higher offset of the other log."""
    created(s, topic="u")
    return _concurrent(s).send(TWO, 3, topic="u").poll(TWO, 3, leader_epoch=2, topic="u")


def passed_below(s: Any) -> Any:
    """Another reader got what was sent later, below the offset."""
    created(s).send(ONE, 0).send(LOST, 3, at=(30, 50)).send(ONE + 2, 4, at=(40, 60))
    s.poll(ONE, 0, leader_epoch=1).poll(ONE + 2, 4, leader_epoch=2)
    s.send(TWO, 1).poll(ONE, 0, leader_epoch=1, process=11)
    return s.poll(TWO, 1, leader_epoch=3, process=11)


def read_on(s: Any) -> Any:
    return overwritten(s).send(TWO + 1, 2).poll(TWO + 1, 2, leader_epoch=2)


def passed_by_a_foreign_record(s: Any) -> Any:
    s = _begun(s).poll(None, 2, leader_epoch=2, error="foreign")
    return s.send(TWO, 3).poll(TWO, 3, leader_epoch=2)


def without_epochs(s: Any) -> Any:
    created(s).send(ONE, 0).send(LOST, 1).poll(ONE, 0)
    return s.send(TWO, 1).poll(TWO, 1)


def in_a_compacted_topic(s: Any) -> Any:
    return _overwrite(_begun(s, cleanup_policy="compact"))


def kept_for_less_than_a_week(s: Any) -> Any:
    return _overwrite(_begun(s, retention_ms="604799999"))


def of_unknown_settings(s: Any) -> Any:
    return _overwrite(s.send(ONE, 0).send(LOST, 1).poll(ONE, 0, leader_epoch=1))


def gone_with_its_topic(s: Any) -> Any:
    return created(created(overwritten(s), event="deleted"), event="recreated")


def deleted(s: Any) -> Any:
    return removals.fault(overwritten(s), "delete-records", topic="t", partition=0, before=2)


PASSED: dict[Callable[[Any], Any], int] = {
    overwritten: 1,
    left_out: 1,
    left_out_with_another_one: 2,
    overwritten_with_endless_retention: 1,
    overwritten_above_what_was_deleted: 1,
    proved_by_another_reader: 1,
    nothing_was_sent_later: 0,
    sent_at_the_same_time: 0,
    sent_later_in_another_epoch: 0,
    sent_later_below_the_step: 0,
    sent_later_to_another_partition: 0,
    read_later_with_damage: 0,
    polled_by_another_reader: 0,
    polled_elsewhere: 0,
    of_unknown_outcome: 0,
    acknowledged_without_offset: 0,
    reader_began_above: 0,
    reader_began_there: 0,
    reader_ended_below: 0,
    damaged_there: 0,
    misrouted_there: 0,
    passed_in_another_partition: 0,
    proved_in_another_partition: 0,
    proved_in_another_topic: 0,
    sent_later_to_another_topic: 0,
    passed_below: 0,
    read_on: 1,
    passed_by_a_foreign_record: 1,
    without_epochs: 0,
    in_a_compacted_topic: 0,
    kept_for_less_than_a_week: 0,
    of_unknown_settings: 0,
    deleted: 0,
    gone_with_its_topic: 0,
}
"""To the number of lost writes that are found."""
