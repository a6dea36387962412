"""The topics of one run: created before it, deleted after it, with a row of the history for each change.

A run that was killed leaves its topics. Nobody else deletes them, and their replicas are copied after every fault.
Its directory may be anywhere, and other workers may use the cluster, whose topics have names of the same form. Only
the process that made a topic says whether it is still needed, so a file in the user's cache registers it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_kafkacheck.cluster.docker.registers import TopicRegister
from pytest_kafkacheck.cluster.kafka import append_time, metadata_views, topics
from pytest_kafkacheck.cluster.kafka import topics as cluster_topics
from pytest_kafkacheck.cluster.kafka.topics import reported
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.operations import OperationLog
from pytest_kafkacheck.experiment.recovery import UsedCluster, wait_agreement
from workloads.clients.protocol import Log
from workloads.workload import Topic

log = logging.getLogger(__name__)

READY_LIMIT = 30.0
"""Seconds for topics to appear on all brokers: a cluster that needs longer is not healthy."""


class RunTopics:
    def __init__(self, topics: Sequence[Topic], cluster: UsedCluster, register: TopicRegister) -> None:
        self._topics, self._cluster, self._register = topics, cluster, register
        self.names = [topic.name for topic in topics]
        self._made: set[str] = set()
        """Those that may exist."""

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
        self._made.update(self.names)
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
            self._made.discard(name)
        self._register.deleted(self.names)

    def delete_left(self) -> None:
        """Delete those of a run that ended early, once no client of it is left that would make them again.

        Never raises: an error ended the run already. What fails here is done when the cluster is next used.
        """
        for name in sorted(self._made):
            try:
                cluster_topics.delete(self._cluster.brokers, name)
                self._made.discard(name)
                self._register.deleted([name])
            except InfrastructureError as error:
                log.warning("%s; the next session deletes it", error)


def abandoned(
    names: Iterable[str], *, home: Path, registered: Collection[str] = (), alone: bool = True
) -> list[str]:
    """Which topics belong to earlier runs: those that are registered as such, and for a run that has the cluster for
    itself also those of all runs beside it.

    A topic of a run contains the run's id, and so does its directory's name. Topics that proofs create for a moment
    have a name of their own.

    home        directory of the run that is about to begin; those of the other runs are beside it.
    registered  see `TopicRegister.abandoned`.
    """
    if not alone:
        return sorted(set(names) & set(registered))
    runs = {each.name.rpartition("-")[2] for each in home.parent.iterdir() if each.is_dir() and each != home}
    return sorted(
        name
        for name in names
        if name in registered
        or name.startswith(append_time.PREFIX)
        or any(part in runs for part in name.split("-"))
    )


def delete_abandoned(cluster: UsedCluster, register: TopicRegister, *, home: Path, alone: bool) -> list[str]:
    """Delete topics of earlier runs, and return their names.

    alone  whether no other run uses the cluster.
    Brokers that do not answer are left out. Raises InfrastructureError when none deletes a topic.
    """
    registered = register.abandoned()
    if not alone and not registered:
        return []
    names: set[str] = set()
    for address in cluster.brokers.values():
        with contextlib.suppress(OSError):
            names |= {name for name, _ in metadata_views.metadata(address, None)}
    found = abandoned(names, home=home, registered=registered, alone=alone)
    for name in found:
        topics.delete(cluster.brokers, name)
    if names and (gone := {*found, *(registered - names)}):
        register.deleted(gone)
    return found
