"""The highest leader epoch that a client has seen, for each log.

kafka-python keeps the metadata of the broker that answered last. An isolated broker answers with outdated metadata,
so the epochs in the library may decrease. Those here do not.
"""

from __future__ import annotations

from typing import Any

from kafka import TopicPartition

from workloads.clients.protocol import Log


class Epochs:
    """Follows the metadata of a client. Dictionary updates only, so safe from any thread."""

    def __init__(self, cluster: Any, topics: tuple[str, ...]) -> None:
        self._cluster = cluster
        self._topics = topics
        self._highest: dict[Log, int] = {}
        cluster.add_listener(self._updated)

    def saw(self, log: Log, epoch: int | None) -> None:
        if epoch is not None and epoch > self._highest.get(log, -1):
            self._highest[log] = epoch

    def highest(self, log: Log) -> int:
        # Hints in produce and fetch responses change the metadata without calling listeners.
        self.saw(log, self._cluster.leader_epoch_for_partition(TopicPartition(*log)))
        return self._highest.get(log, -1)

    def _updated(self, cluster: Any) -> None:
        for topic in self._topics:
            for partition in cluster.partitions_for_topic(topic) or ():
                log = (topic, partition)
                self.saw(log, cluster.leader_epoch_for_partition(TopicPartition(*log)))
