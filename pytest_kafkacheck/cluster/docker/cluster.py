"""A running cluster in Docker: what its nodes need of the engine, and what keeps it there."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from docker.errors import DockerException

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import SPEC, Plan
from pytest_kafkacheck.cluster.docker.registers import ValueRegister
from pytest_kafkacheck.cluster.kafka.administration import Membership
from pytest_kafkacheck.cluster.nodes.cluster import KafkaCluster
from pytest_kafkacheck.cluster.spec.member import Endpoint, Member
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError

log = logging.getLogger(__name__)


class DockerCluster(KafkaCluster[DockerNode]):
    """`boot.running` makes and removes it.

    membership  makes what adds and removes this cluster's brokers.
    """

    def __init__(
        self,
        client: Any,
        plan: Plan,
        nodes: Mapping[int, DockerNode],
        *,
        membership: Callable[[DockerCluster], Membership],
    ) -> None:
        super().__init__(nodes)
        self.client = client
        self.plan = plan
        self._membership = membership

    @property
    def run(self) -> str:
        return self.plan.run

    @property
    def spec(self) -> ClusterSpec:
        return self.plan.spec

    @property
    def membership(self) -> Membership:
        return self._membership(self)

    @cached_property
    def former_values(self) -> ValueRegister | None:
        # On an attached cluster, a guardian remembers that.
        return None if self.spec.attached else ValueRegister(self.run)

    def create(self, member: Member, endpoint: Endpoint, *, pod: str) -> DockerNode:
        """A node with a new container, in a pod. Neither is started."""
        container = self.plan.create_container(self.client.api, member, endpoint, pod=pod)
        return self.node(member, endpoint, container=container, pod=pod)

    def node(self, member: Member, endpoint: Endpoint, *, container: str, pod: str) -> DockerNode:
        """The node whose process runs in the given container of this cluster."""
        return DockerNode(
            self.client,
            member=member,
            endpoint=endpoint,
            container=container,
            pod=pod,
            security=self.plan.securities,
            before_start=partial(self.wait_startable, member),
            owner=self.plan.owner,
        )

    def close(self) -> None:
        """End agents and sidecars, which heals cuts and thaws disks. The nodes go on running."""
        for node in self.nodes.values():
            node.agent.close()
            try:
                node.close_disk()
            except (InfrastructureError, DockerException, OSError) as error:
                log.warning(
                    "the sidecar of %s stays until the cluster is removed: %s", node.member.host, error
                )

    def keep(self) -> None:
        """Let the cluster outlive this session, until `kafkacheck cluster down`. Another session may use it."""
        reaper.keep(self.client, self.run, marks={SPEC: json.dumps(self.spec.to_json())})
