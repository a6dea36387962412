"""Changes a running cluster: brokers are added, removed or lose their data; settings and releases change.

Each function returns when the cluster has settled: every node serves and every ISR is full. Ports, addresses and ids
stay the same. Every function raises InfrastructureError when the cluster does not settle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from docker.errors import NotFound
from kafka import TopicPartition
from kafka.errors import KafkaError

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.containers import memory_limit
from pytest_kafkacheck.cluster.docker.disk_sidecar import sidecar_name
from pytest_kafkacheck.cluster.docker.engine import require_image
from pytest_kafkacheck.cluster.docker.images import archived_image, image_for
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import Plan
from pytest_kafkacheck.cluster.docker.repair import repair
from pytest_kafkacheck.cluster.kafka import dynamic, metadata_views, zookeeper
from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.waiting import LIMIT, unsettled, wait_settled, wait_until
from pytest_kafkacheck.cluster.nodes.cluster import KafkaCluster
from pytest_kafkacheck.cluster.spec.member import INTERNAL, Member
from pytest_kafkacheck.cluster.spec.moves import moved
from pytest_kafkacheck.cluster.spec.security import client_properties
from pytest_kafkacheck.cluster.spec.settings import check_settings
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError

__all__ = [
    "add_broker",
    "configure",
    "reconfigure",
    "remove_broker",
    "repair",
    "rolling_restart",
    "set_features",
    "unsettled",
    "upgrade",
    "wait_settled",
    "wipe",
]


def wipe(cluster: DockerCluster, node: int) -> None:
    """Delete a node's data, as a new disk would. The node then copies everything from its peers.

    Raises UsageError for the only node that stores the cluster's metadata, because no peer has a copy.
    """
    wiped = cluster.require_node(node)
    keepers = [each.id for each in cluster.nodes.values() if each.member.keeps_metadata]
    if keepers == [node]:
        what = "KRaft controller" if cluster.spec.kraft else "ZooKeeper node"
        raise UsageError(
            f"node {node} cannot be wiped: it is the only {what}, and the cluster's metadata would be "
            f"lost; start the cluster with 3 of them, or wipe another node"
        )
    wiped.kill()
    wiped.disk.close()  # its sidecar uses the volume as well
    api, plan = cluster.client.api, cluster.plan
    printed = wiped.logs()
    api.remove_container(wiped.container, force=True, v=True)
    plan.remove_volumes(api, wiped.member)
    wiped.replace_container(
        plan.create_container(api, wiped.member, wiped.endpoint, pod=wiped.pod), printed=printed
    )
    wiped.start()
    wait_settled(cluster)


def configure(cluster: DockerCluster, settings: Mapping[str, object], *, nodes: Sequence[int] = ()) -> None:
    """Change broker settings while brokers run (dynamic configuration).

    nodes  ids of brokers; none for the cluster-wide default.
    Raises UsageError when a setting is unknown or Kafka refuses to change it on a running broker.
    """
    wanted = _checked(cluster, settings, dynamic=True)
    # A broker checks its own settings, so each request goes to that broker. Any broker takes the default of all.
    targets = {str(cluster.require_broker(node).id): {node: cluster.brokers[node]} for node in nodes}
    for name, brokers in (targets or {"": cluster.brokers}).items():
        dynamic.set_broker(brokers, name, wanted)


def reconfigure(cluster: DockerCluster, settings: Mapping[str, object], *, nodes: Sequence[int] = ()) -> None:
    """Change broker settings by restarting brokers one after another (static configuration).

    nodes  ids of brokers; none for all, which changes the cluster's spec as well.
    """
    wanted = _checked(cluster, settings)
    spec = replace(cluster.spec, config={**cluster.spec.config, **wanted})
    if not nodes:
        cluster.plan = replace(cluster.plan, spec=spec)
    _restart_with(
        cluster, spec, [cluster.require_broker(node).id for node in nodes or sorted(cluster.brokers)]
    )


def rolling_restart(cluster: KafkaCluster[Any], *, nodes: Sequence[int] = ()) -> None:
    """Restart nodes in a controlled way, one after another; controllers and ZooKeeper nodes first."""
    for node in nodes or _in_order(cluster):
        restarted = cluster.require_node(node)
        restarted.stop()
        restarted.start()
        wait_settled(cluster)


def upgrade(cluster: DockerCluster, version: str) -> None:
    """Move every node to another release, one after another, keeping data and feature levels.

    In ZooKeeper mode the brokers speak the older protocol until all have moved, and are then restarted once more.
    A downgrade works as long as the feature levels allow it. Raises UsageError for a release that cannot run
    this cluster, InfrastructureError when its image is missing.
    """
    spec = replace(cluster.spec, version=version, image=None)
    cluster.plan = _plan_with(cluster, version)
    for node in _in_order(cluster):
        moving = cluster.require_node(node)
        moving.stop()
        _exchange(cluster, moving, cluster.plan)
        moving.start()
        wait_settled(cluster)
    if cluster.spec != spec:
        cluster.plan = replace(cluster.plan, spec=spec)
        _restart_with(cluster, spec, sorted(cluster.brokers))


def set_features(cluster: DockerCluster, levels: Mapping[str, int]) -> None:
    """Change finalized feature levels of a KRaft cluster, up or, where Kafka considers it safe, down.

    Raises UsageError with Kafka's message when it refuses.
    """
    if not cluster.spec.kraft:
        raise UsageError("feature levels are KRaft's; this cluster runs in ZooKeeper mode")
    with admin_client(cluster.brokers) as client:
        known = client.describe_features()
        updates = {}
        for name, level in levels.items():
            now = known.get(name, {}).get("finalized", (0, 0))[1]
            updates[name] = ("UPGRADE" if level >= now else "SAFE_DOWNGRADE", level)
        try:
            answers = client.update_features(updates)
        except KafkaError as error:
            raise UsageError(f"Kafka refused feature levels {dict(levels)}: {error}") from error
    if refused := {name: text for name, text in answers.items() if text != "OK"}:
        raise UsageError(f"Kafka refused feature levels {dict(levels)}: {refused}")


def _in_order(cluster: KafkaCluster[Any]) -> list[int]:
    """All node ids; nodes that others depend on come first."""
    order = ("zookeeper", "controller", "combined", "broker")
    return sorted(cluster.nodes, key=lambda node: (order.index(cluster.nodes[node].member.role), node))


def _restart_with(cluster: DockerCluster, spec: ClusterSpec, nodes: Sequence[int]) -> None:
    """Restart brokers one after another with the configuration files for `spec`."""
    for node in nodes:
        changed = cluster.nodes[node]
        changed.put(replace(cluster.plan, spec=spec).launch(changed.member, changed.endpoint).files)
        changed.restart()
        wait_settled(cluster)


def _plan_with(cluster: DockerCluster, version: str) -> Plan:
    """For nodes that move to another release. Raises UsageError, and InfrastructureError without its image."""
    spec = moved(cluster.spec, version)
    image = image_for(version, cluster.client)
    require_image(cluster.client, image)
    image = archived_image(cluster.client, image) or image
    return replace(cluster.plan, spec=spec, image=image, checkpoint=None)


def _exchange(cluster: DockerCluster, node: DockerNode, plan: Plan) -> None:
    """Give a stopped node another container, which uses the same data and has the same limits."""
    api, former = cluster.client.api, node.container
    earlier, limits = node.logs(), (node.cpu_limit(), memory_limit(api, former))
    # The former one stays until there is a new one: other threads look at the node meanwhile.
    api.rename(former, f"{plan.name(node.member)}-former")
    node.replace_container(
        plan.create_container(api, node.member, node.endpoint, pod=node.pod), printed=earlier
    )
    cores, size = limits
    if cores is not None:
        node.limit_cpu(cores)
    if size is not None:
        node.limit_memory(size)
    api.remove_container(former, force=True, v=True)


def _checked(
    cluster: DockerCluster, settings: Mapping[str, object], *, dynamic: bool = False
) -> dict[str, str]:
    wanted = {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }
    check_settings(wanted, kind="broker", where="settings", version=cluster.spec.version, dynamic=dynamic)
    return wanted


CLIENT_PROPERTIES = "/k/client.properties"


class DockerMembership:
    """Implements ``kafka.administration.Membership`` for one cluster."""

    def __init__(self, cluster: DockerCluster) -> None:
        self._cluster = cluster

    def add_broker(self) -> int:
        return add_broker(self._cluster)

    def remove_broker(self, node: int) -> None:
        remove_broker(self._cluster, node)

    def change_release(self, node: int, version: str) -> None:
        cluster = self._cluster
        _exchange(cluster, cluster.require_node(node), _plan_with(cluster, version))


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
        {CLIENT_PROPERTIES: client_properties(cluster.plan.securities.get(INTERNAL)).encode()}
    )
    status, output = cluster.nodes[other].execute(
        "java -Xmx128m -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' org.apache.kafka.tools.ClusterTool "
        f"unregister --bootstrap-server localhost:9092 --id {node} --config {CLIENT_PROPERTIES}"
    )
    if status:
        raise InfrastructureError(
            f"broker {node} could not be unregistered (status {status}): {output.strip()}"
        )
