"""What a member of kafka-python's group gets and gives up, with the library's own state of subscriptions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.consumer.subscription_state import SubscriptionState

from workloads.clients.kafka_python.assignments import Assignments

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class Coordinator:
    """Its generation, and how it forgets it."""

    def __init__(self) -> None:
        self.generation = 1
        self.rejoining = False

    def group_metadata(self) -> Any:
        return SimpleNamespace(generation_id=self.generation)

    def reset_generation(self, member_id: str = "") -> None:
        assert isinstance(member_id, str)
        self.generation = -1


class Group:
    """A consumer's assignments, driven as the library does it."""

    def __init__(self) -> None:
        self.subscription = SubscriptionState("earliest")
        self.subscription.subscribe(topics=["t"])
        self.coordinator = Coordinator()
        consumer = SimpleNamespace(_coordinator=self.coordinator, _subscription=self.subscription)
        self.assignments = Assignments(consumer, 0)

    def assign(self, *partitions: TopicPartition) -> None:
        self.subscription.assign_from_subscribed(list(partitions))
        self.assignments.on_partitions_assigned(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.subscription.seek(partition, offset)

    def take(self) -> list[tuple[str, int, int | None, int | None]]:
        return [(each.event, each.log[1], each.generation, each.start) for each in self.assignments.take()]


@pytest.fixture
def group() -> Group:
    return Group()


def test_an_assignment_is_reported_with_its_first_position(group: Group) -> None:
    group.assign(FIRST, SECOND)
    assert group.take() == []
    group.seek(SECOND, 7)
    assert group.take() == [("assigned", 1, 1, 7)]
    group.seek(FIRST, 0)
    assert group.take() == [("assigned", 0, 1, 0)]
    assert group.assignments.owned == {("t", 0), ("t", 1)}


def test_a_partition_that_is_given_up_before_its_position_is_known_has_no_start(group: Group) -> None:
    group.assign(FIRST)
    group.assignments.on_partitions_revoked([FIRST])
    assert group.take() == [("assigned", 0, 1, None), ("revoked", 0, 1, None)]
    assert group.assignments.owned == frozenset()


def test_events_are_in_the_order_of_their_times(group: Group) -> None:
    group.assign(FIRST)
    group.seek(FIRST, 3)
    group.assignments.on_partitions_lost([FIRST])
    events = group.assignments.take()
    assert [each.event for each in events] == ["assigned", "lost"]
    assert events[0].at < events[1].at


def test_a_position_that_is_set_anew_begins_another_assignment(group: Group) -> None:
    """The library does so when the position is out of range, without a word."""
    group.assign(FIRST)
    group.seek(FIRST, 3)
    number = group.assignments.number
    group.seek(FIRST, 40)
    assert group.take() == [("assigned", 0, 1, 3), ("assigned", 0, 1, 40)]
    assert group.assignments.number == number + 1


def test_positions_are_asked_for_again_after_a_rebalance(group: Group) -> None:
    """Another member may have read further in a generation that this one missed."""
    group.assign(FIRST)
    group.seek(FIRST, 3)
    group.assignments.on_partitions_revoked([FIRST])
    group.coordinator.generation = 3
    group.assign(FIRST)
    assert group.subscription.missing_fetch_positions() == {FIRST}
    group.seek(FIRST, 9)
    assert group.take()[2:] == [("assigned", 0, 3, 9)]


def test_a_member_that_is_unknown_when_it_joins_has_lost_its_partitions(group: Group) -> None:
    """With cooperative assignors it keeps them while it joins."""
    group.assign(FIRST)
    group.seek(FIRST, 3)
    group.coordinator.rejoining = True
    group.coordinator.reset_generation(member_id="")
    assert [each[0] for each in group.take()] == ["assigned", "lost"]
    assert group.subscription.assigned_partitions() == set()


def test_a_member_that_learns_it_before_keeps_them_until_it_joins(group: Group) -> None:
    """Then the library itself reports the loss."""
    group.assign(FIRST)
    group.seek(FIRST, 3)
    group.coordinator.reset_generation()
    assert [each[0] for each in group.take()] == ["assigned"]


def test_the_end_reports_what_is_owned_as_lost_and_is_final(group: Group) -> None:
    """The library's close() may hang, and call the listener much later."""
    group.assign(FIRST)
    group.seek(FIRST, 3)
    group.assignments.end()
    group.assignments.on_partitions_revoked([FIRST])
    group.seek(FIRST, 5)
    group.assign(SECOND)
    assert [each[0] for each in group.take()] == ["assigned", "lost"]
