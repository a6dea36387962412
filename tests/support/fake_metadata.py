"""A stand-in for the metadata of kafka-python's clients."""

from __future__ import annotations

from collections.abc import Callable

from kafka import TopicPartition


class FakeCluster:
    """The part of kafka-python's ClusterMetadata that is used."""

    def __init__(self) -> None:
        self.epochs: dict[TopicPartition, int] = {}
        self.listeners: list[Callable[[FakeCluster], None]] = []
        self.updates = 0

    def add_listener(self, listener: Callable[[FakeCluster], None]) -> None:
        self.listeners.append(listener)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {each.partition for each in self.epochs if each.topic == topic}

    def leader_epoch_for_partition(self, partition: TopicPartition) -> int | None:
        return self.epochs.get(partition)

    def request_update(self) -> None:
        self.updates += 1

    def updated(self, epoch: int) -> None:
        self.epochs[TopicPartition("t", 0)] = epoch
        for listener in self.listeners:
            listener(self)
