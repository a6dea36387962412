"""Histories about the time from the heal of a fault to the next acknowledgement, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, S, Span, heal

WRITER = ONE >> 40
"""The process that sends."""

LATE = (30 + S, 31 + S)
"""The times of a send that ends just more than a second after the heal."""


def healed(s: Any) -> Any:
    """A fault is healed at 30 ns. A send was acknowledged before it."""
    return heal(s.send(ONE, 0, at=(0, 10)), (20, 30))


def recovered_slowly_after_a_send_of_unknown_outcome(s: Any) -> Any:
    """Only the acknowledgement shows that the log is available again."""
    healed(s).send(ONE + 1, None, at=(30, S // 2), type="info").send(ONE + 2, 1, at=LATE)
    return s.final({0: ONE, 1: ONE + 2}, end=2)


def recovered_with_what_was_sent_at_the_heal(s: Any) -> Any:
    """In the same nanosecond. The next acknowledgement comes much later."""
    healed(s).send(ONE + 1, 1, at=(30, 40)).send(ONE + 2, 2, at=LATE)
    return s.final({0: ONE, 1: ONE + 1, 2: ONE + 2}, end=3)


def not_recovered_with_what_was_sent_at_the_heal(s: Any) -> Any:
    healed(s).send(ONE + 1, None, at=(30, 31 + S), type="info")
    return s.final({0: ONE}, end=1)


def not_recovered_with_the_last_of_two_sends(s: Any) -> Any:
    """The last one counts: until then, the log was not available."""
    healed(s).send(ONE + 1, None, at=(30, S // 2), type="info").send(ONE + 2, None, at=LATE, type="info")
    return s.final({0: ONE}, end=1)


def sent_before_the_heal_and_never_after_it(s: Any) -> Any:
    """Nothing shows whether the log was available after the heal."""
    healed(s).send(ONE + 1, None, at=(20, 31 + S), type="info")
    return s.final({0: ONE}, end=1)


def not_acknowledged_before_the_heal(s: Any) -> Any:
    """Both logs may have been unavailable from the beginning: one send has an unknown outcome, and the other one was
    acknowledged in the nanosecond of the heal."""
    s.send(ONE, None, at=(0, 10), type="info").send(ONE + 1, 0, at=(0, 30), partition=1)
    heal(s, (20, 30)).send(ONE + 2, 0, at=LATE).send(ONE + 3, 1, at=LATE, partition=1)
    return s.final({0: ONE + 2}, end=1).final({0: ONE + 1, 1: ONE + 3}, end=2, partition=1)


def recovered_from_the_last_of_two_faults(s: Any) -> Any:
    """Nothing was sent between them."""
    heal(healed(s), (4 * S, 5 * S)).send(ONE + 1, 1, at=(5 * S, 6 * S))
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def silent(s: Any, *, kind: str = "info", offset: int | None = None, **more: Any) -> Any:
    """Partition 0 acknowledges nothing after the heal, and partition 1 does. The rest: of the send to partition 0."""
    healed(s.send(ONE + 1, 0, at=(0, 10), partition=1))
    s.send(ONE + 2, offset, **{"at": (31, 35), "type": kind} | more)
    s.send(ONE + 3, 1, at=(36, 40), partition=1)
    return s.final({0: ONE}, end=1).final({0: ONE + 1, 1: ONE + 3}, end=2, partition=1)


def silent_after_the_heal(s: Any) -> Any:
    return silent(s)


def silent_with_a_send_that_never_ended(s: Any) -> Any:
    return silent(s, at=(30, None))


def silent_and_refusing(s: Any) -> Any:
    return silent(s, kind="fail")


def acknowledged_without_an_offset(s: Any) -> Any:
    healed(s.send(ONE + 1, 0, at=(0, 10), partition=1)).send(ONE + 2, None, at=(31, 35))
    s.send(ONE + 3, 1, at=(36, 40), partition=1).final({0: ONE, 1: ONE + 2}, end=2)
    return s.final({0: ONE + 1, 1: ONE + 3}, end=2, partition=1)


def asked_last(s: Any) -> Any:
    """The other partition acknowledged nothing that was sent later, and nothing in the same nanosecond counts."""
    return silent(s, at=(36, 45))


def sent_to_before_the_heal_only(s: Any) -> Any:
    return silent(s, at=(29, 35))


def aborted_after_the_heal(s: Any) -> Any:
    """The broker acknowledged the send of the aborted transaction."""
    return silent(s, kind="fail", offset=1, transaction=7)


def acknowledged_at_the_heal(s: Any) -> Any:
    """What was sent before it, in the nanosecond in which the heal was over; nothing later."""
    s.send(2 << 40, 1, at=(15, 30))
    silent(s)
    return s.final({0: ONE, 1: 2 << 40}, end=2, process=97)


def silent_before_the_last_heal(s: Any) -> Any:
    """It acknowledged again after the second fault."""
    silent(s)
    heal(s, (s.now + 10, s.now + 20))
    s.send(ONE + 5, 1).send(ONE + 6, 2, partition=1)
    s.final({0: ONE, 1: ONE + 5}, end=2, process=97)
    return s.final({0: ONE + 1, 1: ONE + 3, 2: ONE + 6}, end=3, partition=1, process=97)


def all_are_silent(s: Any) -> Any:
    healed(s).send(ONE + 1, None, at=(31, 35), type="info").send(
        ONE + 2, None, partition=1, at=(31, 35), type="info"
    )
    return s.final({0: ONE}, end=1).final({}, end=0, partition=1)


def silent_because_its_topic_was_deleted(s: Any) -> Any:
    value = '{"change": "delete"}'
    s.operation("alter", process=30, topic="u", partition=None, at=(21, 25), value=value)
    healed(s).send(ONE + 1, None, topic="u", at=(31, 35), type="fail").send(ONE + 2, 1, at=(36, 40))
    return s.final({0: ONE, 1: ONE + 2}, end=2)


def silent_although_its_topic_was_not_deleted(s: Any) -> Any:
    s.operation(
        "alter", process=30, topic="u", partition=None, at=(21, 25), type="fail", value='{"change": "delete"}'
    )
    s.operation("alter", process=30, topic="u", partition=None, at=(21, 25), value='{"change": "config"}')
    s.harness("topic", {"event": "created", "config": {}, "id": "u"}, topic="u", at=(0, 1))
    healed(s).send(ONE + 1, None, topic="u", at=(31, 35), type="fail").send(ONE + 2, 1, at=(36, 40))
    return s.final({0: ONE, 1: ONE + 2}, end=2)


def silent_because_the_run_deleted_its_topic(s: Any) -> Any:
    s.harness("topic", {"event": "deleted", "config": {}, "id": "u"}, topic="u", at=(21, 25))
    healed(s).send(ONE + 1, None, topic="u", at=(31, 35), type="fail").send(ONE + 2, 1, at=(36, 40))
    return s.final({0: ONE, 1: ONE + 2}, end=2)


def silent_until_the_run_deleted_its_topic(s: Any) -> Any:
    """As each run does at its end."""
    silent(s)
    return s.harness("topic", {"event": "deleted", "config": {}, "id": "t"}, at=(s.now + 10, s.now + 15))


def silent_because_its_topic_was_deleted_before_the_run_did(s: Any) -> Any:
    silent_because_the_run_deleted_its_topic(s)
    return s.harness(
        "topic", {"event": "deleted", "config": {}, "id": "u"}, topic="u", at=(s.now + 10, s.now + 15)
    )


def asked_between_two_others(s: Any) -> Any:
    """One of the other partitions acknowledged what was sent before, and one what was sent later."""
    s.send(2 << 40, 0, at=(0, 10), partition=2)
    return (
        silent(s, at=(34, 45))
        .send((2 << 40) + 1, 1, at=(32, 33), partition=2)
        .final({0: 2 << 40, 1: (2 << 40) + 1}, end=2, partition=2)
    )


def asked_twice(s: Any) -> Any:
    """Nothing shows that other partitions acknowledged anything after the second time."""
    s.send((2 << 40), None, at=(50, 60), type="info")
    return silent(s)


def topic_event(s: Any, event: str, at: Span) -> Any:
    """The run, or one of its faults, did this to topic u."""
    return s.harness("topic", {"event": event, "config": {}, "id": event}, topic="u", at=at)


def topic_change(s: Any, change: str, at: Span, kind: str = "ok") -> Any:
    """An administrator requested this change of topic u."""
    value = json.dumps({"change": change})
    return s.operation("alter", process=30, topic="u", partition=None, at=at, type=kind, value=value)


def created_and_deleted(s: Any) -> Any:
    return topic_event(topic_event(s, "created", (0, 1)), "deleted", (2, 3))


def silent_topic(s: Any) -> Any:
    """Topic u acknowledges nothing after the heal."""
    healed(s).send(ONE + 1, None, topic="u", at=(31, 35), type="fail").send(ONE + 2, 1, at=(36, 40))
    return s.final({0: ONE, 1: ONE + 2}, end=2)


def silent_because_the_run_deleted_what_it_had_created(s: Any) -> Any:
    return silent_topic(created_and_deleted(s))


def silent_because_its_topic_was_deleted_and_perhaps_altered(s: Any) -> Any:
    """Nobody answered a request to alter the topic that was gone."""
    return silent_topic(topic_change(created_and_deleted(s), "config", (5, 6), kind="info"))


def silent_although_the_run_created_its_topic_again(s: Any) -> Any:
    return silent_topic(topic_event(created_and_deleted(s), "created", (5, 6)))


def silent_although_a_fault_created_its_topic_again(s: Any) -> Any:
    return silent_topic(topic_event(created_and_deleted(s), "recreated", (5, 6)))


def silent_although_an_administrator_created_its_topic_again(s: Any) -> Any:
    return silent_topic(topic_change(created_and_deleted(s), "create", (5, 6)))


def waits_for_an_id(s: Any, at: Span, *, process: int = WRITER, kind: str = "info") -> Any:
    """A transactional client asks for a producer id."""
    row = {"topic": None, "partition": None, "value": json.dumps({"transactional_id": "t"})}
    return s.operation("init", process=process, type=kind, at=at, **row)


def not_recovered_for_a_client_that_waits_for_an_id(s: Any) -> Any:
    """It cannot send, so nobody does. The first request ends soon."""
    waits_for_an_id(waits_for_an_id(healed(s), (31, S // 2)), (S // 2, 32 + S))
    return s.final({0: ONE}, end=1)


def waiting_for_an_id_is_over(s: Any) -> Any:
    """A broker refused another one, and clients that have not sent to the log, or not yet, wait as well."""
    waits_for_an_id(waits_for_an_id(s, (0, 1), process=WRITER), (0, 31 + S), process=WRITER + 1)
    waits_for_an_id(waits_for_an_id(healed(s), (31, S // 2)), (S // 2, 31 + S), kind="fail")
    return s.final({0: ONE}, end=1)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    recovered_slowly_after_a_send_of_unknown_outcome: {"slow-recovery": 1, "unavailable": 1},
    recovered_with_what_was_sent_at_the_heal: {},
    not_recovered_with_what_was_sent_at_the_heal: {"slow-recovery": 1, "unavailable": 1},
    not_recovered_with_the_last_of_two_sends: {"slow-recovery": 1, "unavailable": 1},
    sent_before_the_heal_and_never_after_it: {"unavailable": 1},
    not_acknowledged_before_the_heal: {"unavailable": 1},
    recovered_from_the_last_of_two_faults: {},
    not_recovered_for_a_client_that_waits_for_an_id: {"slow-recovery": 1, "unavailable": 1},
    waiting_for_an_id_is_over: {},
    silent_after_the_heal: {"silent-partition": 1},
    silent_with_a_send_that_never_ended: {"silent-partition": 1},
    silent_and_refusing: {"silent-partition": 1},
    acknowledged_without_an_offset: {},
    asked_last: {},
    sent_to_before_the_heal_only: {},
    aborted_after_the_heal: {},
    acknowledged_at_the_heal: {},
    silent_before_the_last_heal: {},
    all_are_silent: {},
    silent_because_its_topic_was_deleted: {},
    silent_although_its_topic_was_not_deleted: {"silent-partition": 1},
    silent_because_the_run_deleted_its_topic: {},
    silent_until_the_run_deleted_its_topic: {"silent-partition": 1},
    silent_because_its_topic_was_deleted_before_the_run_did: {},
    asked_between_two_others: {"silent-partition": 1},
    asked_twice: {"silent-partition": 1},
    silent_because_the_run_deleted_what_it_had_created: {},
    silent_because_its_topic_was_deleted_and_perhaps_altered: {},
    silent_although_the_run_created_its_topic_again: {"silent-partition": 1},
    silent_although_a_fault_created_its_topic_again: {"silent-partition": 1},
    silent_although_an_administrator_created_its_topic_again: {"silent-partition": 1},
}
