"""What a run without faults needs of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pytest_kafkacheck.cluster.kafka.topic_state import Report
from workloads.clients.connection import Address, Ensemble


class ReportsTopics(Protocol):
    report: Report | None
    """Takes each deletion and creation of a topic."""


class UsedCluster(Protocol):
    @property
    def run(self) -> str:
        """How environment.json names it."""
        ...

    @property
    def brokers(self) -> Mapping[int, Address]:
        """Where clients on this host reach each broker."""
        ...

    @property
    def ensemble(self) -> Ensemble:
        """ZooKeeper as this host reaches it; without servers in KRaft mode, and where it is not known."""
        ...

    @property
    def nodes(self) -> Collection[int]:
        """The nodes that faults may leave in need of a restart."""
        ...

    @property
    def kafka(self) -> ReportsTopics: ...
