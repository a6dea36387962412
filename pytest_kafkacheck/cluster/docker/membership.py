"""Adds brokers to a running cluster and removes them again.

Both functions return when the cluster has settled: every node serves and every ISR is full. They raise
InfrastructureError when it does not settle.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from docker.errors import NotFound
from kafka import TopicPartition

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.disk_sidecar import sidecar_name
from pytest_kafkacheck.cluster.docker.launch import archive
from pytest_kafkacheck.cluster.kafka import metadata_views, zookeeper
from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.settling import LIMIT, wait_settled
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from pytest_kafkacheck.cluster.spec.member import INTERNAL, Member
from pytest_kafkacheck.cluster.spec.security import client_properties
from pytest_kafkacheck.errors import InfrastructureError, UsageError

CLIENT_PROPERTIES = "/k/client.properties"


class DockerMembership:
    """Implements ``kafka.administration.Membership`` for one cluster."""

    def __init__(self, cluster: DockerCluster) -> None:
        self._cluster = cluster

    def add_broker(self) -> int:
        return add_broker(self._cluster)

    def remove_broker(self, node: int) -> None:
        remove_broker(self._cluster, node)


def add_broker(cluster: DockerCluster, *, rack: str | None = None) -> int:
    """Add a broker that is not a controller. Returns its node id. It holds no partitions yet."""
    node = max(cluster.brokers) + 1
    member = Member(id=node, role="broker", rack=rack or cluster.spec.rack_of(node))
    api, plan = cluster.client.api, cluster.plan
    endpoint = plan.endpoints([member])[node]
    pod = None
    try:
        pod = plan.create_pod(api, member, endpoint)
        api.start(pod)
        made = cluster.create(member, endpoint, pod=pod)
        made.start()
        cluster.nodes[node] = made
        wait_settled(cluster)
    except BaseException:
        cluster.nodes.pop(node, None)
        _remove_parts(cluster, member, pod)
        raise
    return node


def remove_broker(cluster: DockerCluster, node: int) -> None:
    """Move a broker's replicas to the others, then shut it down, unregister and remove it.

    Raises UsageError for a node that votes in the quorum, and where too few other brokers are left for its replicas.
    """
    leaving = cluster.require_broker(node)
    if leaving.member.is_controller:
        raise UsageError(
            f"node {node} votes in the KRaft quorum, which is fixed at the start; brokers can be removed from "
            f"clusters with separate controllers, or when they were added"
        )
    _drain(cluster, node)
    leaving.stop()
    del cluster.nodes[node]
    leaving.agent.close()
    if cluster.spec.kraft:
        _unregister(cluster, node)
    else:
        wait_until(
            lambda: None if node not in zookeeper.registered(cluster.ensemble) else "still registered",
            f"broker {node} gone from ZooKeeper",
            limit=LIMIT,
        )
    _remove_parts(cluster, leaving.member, leaving.pod)
    wait_settled(cluster)


def _remove_parts(cluster: DockerCluster, member: Member, pod: str | None) -> None:
    api, plan = cluster.client.api, cluster.plan
    for container in (sidecar_name(plan.name(member)), plan.name(member), pod):
        if container is not None:
            with suppress(NotFound):
                api.remove_container(container, force=True, v=True)
    plan.remove_volumes(api, member)


def _drain(cluster: DockerCluster, node: int) -> None:
    """Move all replicas off a broker, each to the broker that has the fewest at that moment."""
    others = sorted(set(cluster.brokers) - {node})
    layout = {
        log: list(view.replicas)
        for log, view in metadata_views.metadata(cluster.brokers[others[0]], None).items()
    }
    load = {other: sum(other in replicas for replicas in layout.values()) for other in others}
    moves: dict[Any, list[int]] = {}
    for log, replicas in sorted(layout.items()):
        if node not in replicas:
            continue
        free = [other for other in others if other not in replicas]
        if not free:
            raise UsageError(
                f"broker {node} cannot go: {log[0]}-{log[1]} has replicas on {replicas}, and no other broker is free "
                f"to take its place; delete the topic, or add a broker first"
            )
        chosen = min(free, key=lambda other: load[other])
        load[chosen] += 1
        moves[TopicPartition(*log)] = [chosen if replica == node else replica for replica in replicas]
    if not moves:
        return
    with admin_client(cluster.brokers) as client:
        refused = {log: error for log, error in client.alter_partition_reassignments(moves).items() if error}
    if refused:
        raise InfrastructureError(f"Kafka refused to move replicas off broker {node}: {refused}")

    def left() -> str | None:
        for address in cluster.brokers.values():
            for log, view in metadata_views.metadata(address, None).items():
                if node in view.replicas:
                    return f"{log[0]}-{log[1]} still has a replica on it"
        return None

    wait_until(left, f"broker {node} drained", limit=LIMIT)


def _unregister(cluster: DockerCluster, node: int) -> None:
    # kafka-python has no such request. Kafka's own tool is in every node's container.
    other = next(iter(cluster.brokers))
    cluster.nodes[other].put(
        archive({CLIENT_PROPERTIES: client_properties(cluster.plan.securities.get(INTERNAL)).encode()})
    )
    status, output = cluster.nodes[other].execute(
        "java -Xmx128m -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' org.apache.kafka.tools.ClusterTool "
        f"unregister --bootstrap-server localhost:9092 --id {node} --config {CLIENT_PROPERTIES}"
    )
    if status:
        raise InfrastructureError(
            f"broker {node} could not be unregistered (status {status}): {output.strip()}"
        )
