"""What the modules of this folder need of a running cluster, in Docker or elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.clients.connection import Address, Ensemble


class RunningCluster(Protocol):
    """Addresses of the nodes, and whether they serve."""

    @property
    def spec(self) -> ClusterSpec: ...

    @property
    def nodes(self) -> Collection[int]:
        """Node ids."""
        ...

    @property
    def brokers(self) -> Mapping[int, Address]:
        """Where clients on this host reach each broker."""
        ...

    @property
    def ensemble(self) -> Ensemble:
        """ZooKeeper as this host reaches it; without servers in KRaft mode."""
        ...

    def leader(self, topic: str, partition: int) -> int | None:
        """Node id of the partition's leader; None while it has none."""
        ...

    def serving(self, node: int) -> bool:
        """Whether the node serves clients or its peers. False where it does not answer."""
        ...

    def ended(self) -> str | None:
        """The last output of the first node whose process has ended; None while all run."""
        ...
