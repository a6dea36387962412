"""Histories in which leaders acknowledge with too few replicas in sync, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.followers import ONE, S, created, of_fault, quorum, settings
from tests.support.stories.replication import reported


def producer(s: Any, acks: str = "all") -> Any:
    s.harness("worker", {"role": "producer", "process": 1, "event": "started", "acks": acks}, at=(1, 2))
    return s


def short(s: Any, *, isr: Any = (1,), until: int = 7, **more: Any) -> Any:
    """The leader reports each second that it has one replica in sync."""
    settings(quorum(s), min_insync_replicas=2)
    for second in range(1, until + 1):
        reported(s, second * S, isr=list(isr), **more)
    return s


def acknowledged(s: Any, *seconds: int) -> Any:
    """A record in the middle of each of these seconds."""
    for offset, second in enumerate(seconds):
        began = second * S + S // 2
        s.send(ONE + offset, offset, at=(began, began + 9))
    end = len(seconds)
    return s.final({offset: ONE + offset for offset in range(end)}, end=end)


def acknowledged_with_one_replica_in_sync(s: Any) -> Any:
    return acknowledged(short(producer(s)), 1, 2)


def acknowledged_with_one_replica_in_sync_once_in_a_while(s: Any) -> Any:
    """A replica may have been back for a moment."""
    return acknowledged(short(producer(s), until=9), 1, 3)


def acknowledged_with_one_replica_in_sync_for_a_moment(s: Any) -> Any:
    return acknowledged(short(producer(s), until=2), 1)


def acknowledged_with_enough_replicas(s: Any) -> Any:
    return acknowledged(short(producer(s), isr=(1, 2)), 1, 2)


def acknowledged_by_the_leader_alone(s: Any) -> Any:
    return acknowledged(short(producer(s, "1")), 1, 2)


def acknowledged_where_one_replica_suffices(s: Any) -> Any:
    """It did at some time."""
    settings(s, 5, min_insync_replicas=1)
    return acknowledged(short(producer(s)), 1, 2)


def acknowledged_before_a_replica_returns(s: Any) -> Any:
    """The leader's metadata may show it late."""
    short(producer(s), until=4)
    for second in (5, 6, 7, 8):
        reported(s, second * S, isr=[1, 2])
    return acknowledged(s, 1, 2)


def acknowledged_without_a_quorum(s: Any) -> Any:
    s = acknowledged(short(producer(s)), 1, 2)
    s.observations = [each for each in s.observations if each["kind"] != "quorum"]
    return s


def acknowledged_while_a_fault_changes_settings(s: Any) -> Any:
    of_fault(s, "configure", 30, {"settings": {"min.insync.replicas": "1"}})
    return acknowledged(short(producer(s)), 1, 2, 7)


def refused_with_one_replica_in_sync(s: Any) -> Any:
    short(producer(s))
    for second, more in ((1, {}), (2, {"type": "fail"})):
        began = second * S + S // 2
        s.send(ONE + second, 0 if second == 1 else None, at=(began, began + 9), **more)
    return s.final({0: ONE + 1}, end=1)


def acknowledged_in_a_topic_created_with_its_setting(s: Any) -> Any:
    return acknowledged(short(producer(created(s, min_insync_replicas=2))), 1, 2)


def acknowledged_while_a_fault_changes_other_settings(s: Any) -> Any:
    of_fault(s, "configure", 30, {"settings": {"retention.ms": "-1"}})
    return acknowledged(short(producer(s)), 1, 2, 7)


def polled_with_one_replica_in_sync(s: Any) -> Any:
    """By the process of a producer."""
    short(producer(s)).send(ONE, 0, at=(10, 19))
    for second in (1, 2):
        began = second * S + S // 2
        s.poll(ONE, 0, process=1, assignment=second, at=(began, began + 9))
    return s.final({0: ONE}, end=1)


def acknowledged_at_the_nanoseconds_of_answers(s: Any) -> Any:
    """The first two began when an answer arrived, the others were acknowledged when the next one was asked for."""
    short(producer(s), until=11)
    for offset, second in enumerate((1, 2)):
        s.send(ONE + offset, offset, at=(second * S + 5, second * S + 9))
    for offset, second in ((2, 4), (3, 5)):
        s.send(ONE + offset, offset, at=(second * S + 500, second * S + S))
    return s.final({offset: ONE + offset for offset in range(4)}, end=4)


def acknowledged_in_the_second_in_which_the_next_answer_came(s: Any) -> Any:
    settings(quorum(producer(s)), min_insync_replicas=2)
    for second in range(1, 8):
        reported(s, second * S + S // 2, isr=[1])
    for offset, second in enumerate((2, 3)):
        s.send(ONE + offset, offset, at=(second * S + 20, second * S + 30))
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def acknowledged_exactly_two_seconds_before_the_end(s: Any) -> Any:
    """Of the last answer, nothing shows that the broker still led."""
    return acknowledged(short(producer(s), until=6), 1, 2)


def acknowledged_before_and_after_a_replica_left(s: Any) -> Any:
    settings(quorum(producer(s)), min_insync_replicas=2)
    reported(s, S, isr=[1, 2])
    for second in range(2, 9):
        reported(s, second * S, isr=[1])
    return acknowledged(s, 1, 2)


def acknowledged_in_another_partition(s: Any) -> Any:
    """And in another topic, where one replica suffices."""
    short(producer(s)).send(ONE, 0, at=(10, 19))
    for offset, second in enumerate((1, 2)):
        began = second * S + S // 2
        s.send(ONE + 1 + offset, offset, partition=1, at=(began, began + 9))
        s.send(ONE + 3 + offset, offset, topic="u", at=(began, began + 9))
    s.final({0: ONE}, end=1).final({0: ONE + 1, 1: ONE + 2}, end=2, partition=1)
    return s.final({0: ONE + 3, 1: ONE + 4}, end=2, topic="u")


def reported_beside(s: Any, *isr: int, after: int = 300_000_000) -> Any:
    """The same broker leads another topic in the same epoch, and answers for it some ns after each second."""
    settings(s, topic="u", min_insync_replicas=2)
    for second in range(1, 10):
        reported(s, second * S + after, topic="u", isr=[*isr])
    return s


def acknowledged_beside_a_topic_with_one_replica_in_sync(s: Any) -> Any:
    """Its answers come between those of the topic that gets records."""
    return acknowledged(reported_beside(short(producer(s)), 1, after=700_000_000), 1, 2)


def acknowledged_beside_a_topic_with_enough_replicas(s: Any) -> Any:
    return acknowledged(reported_beside(short(producer(s)), 1, 2), 1, 2)


def acknowledged_for_a_moment_beside_another_topic(s: Any) -> Any:
    """The ISR of the other topic stays short for longer."""
    return acknowledged(reported_beside(short(producer(s), until=4), 1), 1, 2)


def acknowledged_in_turns_with_another_topic(s: Any) -> Any:
    """Each log has a pair of answers without acknowledgements before each pair with some."""
    reported_beside(short(producer(s), until=9), 1)
    for offset, second in enumerate((2, 4)):
        s.send(ONE + 8 + offset, offset, topic="u", at=(second * S + S // 2, second * S + S // 2 + 9))
    s.final({0: ONE + 8, 1: ONE + 9}, end=2, topic="u")
    return acknowledged(s, 1, 3)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    acknowledged_with_one_replica_in_sync: {"acks-below-min-isr": 1},
    acknowledged_with_one_replica_in_sync_once_in_a_while: {},
    acknowledged_with_one_replica_in_sync_for_a_moment: {},
    acknowledged_with_enough_replicas: {},
    acknowledged_by_the_leader_alone: {},
    acknowledged_where_one_replica_suffices: {},
    acknowledged_before_a_replica_returns: {},
    acknowledged_without_a_quorum: {},
    acknowledged_while_a_fault_changes_settings: {},
    refused_with_one_replica_in_sync: {},
    acknowledged_in_a_topic_created_with_its_setting: {"acks-below-min-isr": 1},
    acknowledged_while_a_fault_changes_other_settings: {"acks-below-min-isr": 1},
    polled_with_one_replica_in_sync: {},
    acknowledged_at_the_nanoseconds_of_answers: {},
    acknowledged_in_the_second_in_which_the_next_answer_came: {"acks-below-min-isr": 1},
    acknowledged_exactly_two_seconds_before_the_end: {},
    acknowledged_before_and_after_a_replica_left: {},
    acknowledged_in_another_partition: {},
    acknowledged_beside_a_topic_with_one_replica_in_sync: {"acks-below-min-isr": 1},
    acknowledged_beside_a_topic_with_enough_replicas: {"acks-below-min-isr": 1},
    acknowledged_for_a_moment_beside_another_topic: {},
    acknowledged_in_turns_with_another_topic: {},
}
