"""The topics of one run: created before it, deleted after it, with a row of the history for each change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pytest_kafkacheck.cluster.kafka import topics as cluster_topics
from pytest_kafkacheck.cluster.kafka.topics import reported
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.operations import OperationLog
from pytest_kafkacheck.experiment.recovery import wait_agreement
from pytest_kafkacheck.experiment.topic_register import TopicRegister
from pytest_kafkacheck.experiment.used_cluster import UsedCluster
from workloads.clients.protocol import Log
from workloads.workload import Topic

READY_LIMIT = 30.0
"""Seconds for topics to appear on all brokers: a cluster that needs longer is not healthy."""


class RunTopics:
    def __init__(self, topics: Sequence[Topic], cluster: UsedCluster, register: TopicRegister) -> None:
        self._topics, self._cluster, self._register = topics, cluster, register
        self.names = [topic.name for topic in topics]

    @property
    def logs(self) -> list[Log]:
        """Their partitions, as created."""
        return [
            (topic.name, partition)
            for topic in self._topics
            for partition in sorted(topic.assignment or range(topic.partitions))
        ]

    @contextmanager
    def recorded(self, operations: OperationLog) -> Iterator[None]:
        """Within the block, each topic that the run, or one of its faults, creates or deletes gets its row."""
        kafka = self._cluster.kafka
        kafka.report = lambda change: operations.record(change.row())
        try:
            yield
        finally:
            kafka.report = None

    def create(self) -> None:
        """Raises InfrastructureError when they are not ready in time, UsageError when Kafka refuses one."""
        self._register.made(self.names)
        for topic in self._topics:
            with reported(self._cluster.brokers, topic.name, "created", self._cluster.kafka.report):
                cluster_topics.create(
                    self._cluster.brokers,
                    topic.name,
                    partitions=topic.partitions,
                    replication_factor=topic.replication_factor,
                    assignment=topic.assignment,
                    config=topic.config,
                )
        if problem := wait_agreement(self._cluster, self.names, limit=READY_LIMIT):
            raise InfrastructureError(
                f"{self.names} not ready {READY_LIMIT:.0f} s after their creation: {problem}"
            )

    def delete(self) -> None:
        """Raises InfrastructureError when no broker accepts the request."""
        for name in self.names:
            with reported(self._cluster.brokers, name, "deleted", self._cluster.kafka.report):
                cluster_topics.delete(self._cluster.brokers, name)
        self._register.deleted(self.names)
