"""Changing a running cluster: brokers come and go, lose their data, get other settings, another release.

Each function returns when the cluster has settled: every node serves and every ISR is full. Ports,
addresses and ids outlive all of it. Every function raises InfrastructureError when it does not settle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from docker.errors import APIError
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from pytest_kafkacheck.cluster.docker import class_archive
from pytest_kafkacheck.cluster.docker.agent import HEAL
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.disk import sidecar_name
from pytest_kafkacheck.cluster.docker.engine import require_image
from pytest_kafkacheck.cluster.docker.launch import archive
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import Plan
from pytest_kafkacheck.cluster.kafka import dynamic, metadata_views, zookeeper
from pytest_kafkacheck.cluster.kafka.readiness import absent
from pytest_kafkacheck.cluster.kafka.waiting import until
from pytest_kafkacheck.cluster.spec.member import INTERNAL, Member
from pytest_kafkacheck.cluster.spec.security import client_properties
from pytest_kafkacheck.cluster.spec.settings import check_settings
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.setup.image import image_for
from workloads.clients.kafka_python import access

PROTOCOL_VERSION = "inter.broker.protocol.version"

CLIENT_PROPERTIES = "/k/client.properties"

LIMIT = 120.0
"""Seconds for one change to settle."""


def add_broker(cluster: DockerCluster, *, rack: str | None = None) -> int:
    """Add a broker, one that is not a controller. Returns its node id; it holds no partitions yet."""
    node = max(cluster.brokers) + 1
    member = Member(id=node, role="broker", rack=rack or cluster.spec.rack_of(node))
    api, plan = cluster.client.api, cluster.plan
    place = plan.places([member])[node]
    pod = None
    try:
        pod = plan.create_pod(api, member, place)
        made = cluster.create(member, place, pod=pod)
        made.start()
        cluster.nodes[node] = made
        wait_settled(cluster)
    except BaseException:
        cluster.nodes.pop(node, None)
        _remove_parts(cluster, member, pod)
        raise
    return node


def remove_broker(cluster: DockerCluster, node: int) -> None:
    """Move a broker's replicas to the others, shut it down, unregister and remove it.

    Raises UsageError for a node that votes in the quorum, and where the others are too few for its replicas.
    """
    leaving = _broker(cluster, node)
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
        until(
            lambda: (
                None if node not in zookeeper.registered(cluster.zookeepers.values()) else "still registered"
            ),
            f"broker {node} gone from ZooKeeper",
            limit=LIMIT,
        )
    _remove_parts(cluster, leaving.member, leaving.pod)
    wait_settled(cluster)


def wipe(cluster: DockerCluster, node: int) -> None:
    """Replace a node's data by none, as a new disk would; it fetches everything from its peers.

    Raises UsageError for the only node that holds the cluster's metadata: nobody could give it back.
    """
    wiped = _node(cluster, node)
    keepers = [each.id for each in cluster.nodes.values() if each.member.keeps_metadata]
    if keepers == [node]:
        what = "KRaft controller" if cluster.spec.kraft else "ZooKeeper node"
        raise UsageError(
            f"node {node} cannot be wiped: it is the only {what}, and the cluster's metadata would be gone for "
            f"all; start the cluster with 3 of them, or wipe another node"
        )
    wiped.kill()
    _replace(cluster, wiped, cluster.plan, keep_data=False)
    wait_settled(cluster)


def configure(cluster: DockerCluster, settings: Mapping[str, object], *, nodes: Sequence[int] = ()) -> None:
    """Change broker settings while brokers run (dynamic configuration).

    nodes  brokers meant; none for the default of all brokers.
    Raises UsageError when a setting is unknown or Kafka refuses to change it on a running broker.
    """
    wanted = _checked(cluster, settings, dynamic=True)
    # A broker checks its own settings itself, so that each is asked about itself; the default, whoever answers.
    asked = {str(_broker(cluster, node).id): {node: cluster.brokers[node]} for node in nodes}
    for name, brokers in (asked or {"": cluster.brokers}).items():
        dynamic.set_broker(brokers, name, wanted)


def reconfigure(cluster: DockerCluster, settings: Mapping[str, object], *, nodes: Sequence[int] = ()) -> None:
    """Change broker settings by restarting brokers one after another (static configuration).

    nodes  brokers meant; none for all, which changes the cluster's spec as well.
    """
    wanted = _checked(cluster, settings)
    spec = replace(cluster.spec, config={**cluster.spec.config, **wanted})
    if not nodes:
        cluster.plan = replace(cluster.plan, spec=spec)
    _restart_with(cluster, spec, [_broker(cluster, node).id for node in nodes or sorted(cluster.brokers)])


def rolling_restart(cluster: DockerCluster, *, nodes: Sequence[int] = ()) -> None:
    """Restart nodes in a controlled way, one after another; controllers and ZooKeeper nodes first."""
    for node in nodes or _in_order(cluster):
        _node(cluster, node).restart()
        wait_settled(cluster)


def upgrade(cluster: DockerCluster, version: str) -> None:
    """Move every node to another release, one after another, keeping data and feature levels.

    In ZooKeeper mode the brokers speak the older protocol until all have moved, and are then restarted once more.
    A downgrade works as long as the feature levels allow it. Raises UsageError for a release that cannot run
    this cluster, InfrastructureError when its image is missing.
    """
    before = cluster.spec
    spec = replace(before, version=version, image=None)
    image = image_for(version, cluster.client)
    require_image(cluster.client, image)
    image = class_archive.image_of(cluster.client, image) or image
    mixed = spec
    if not spec.kraft and PROTOCOL_VERSION not in spec.config:
        mixed = replace(spec, config={**spec.config, PROTOCOL_VERSION: before.release.line})
    cluster.plan = replace(cluster.plan, spec=mixed, image=image, checkpoint=None)
    for node in _in_order(cluster):
        moving = _node(cluster, node)
        moving.stop()
        _replace(cluster, moving, cluster.plan, keep_data=True)
        wait_settled(cluster)
    if mixed != spec:
        cluster.plan = replace(cluster.plan, spec=spec)
        _restart_with(cluster, spec, sorted(cluster.brokers))


def set_features(cluster: DockerCluster, levels: Mapping[str, int]) -> None:
    """Change finalized feature levels of a KRaft cluster, up or (where Kafka thinks it safe) down.

    Raises UsageError with Kafka's words when it refuses.
    """
    if not cluster.spec.kraft:
        raise UsageError("feature levels are KRaft's; this cluster runs in ZooKeeper mode")
    with admin(cluster) as client:
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


def mend(cluster: DockerCluster) -> None:
    """Undo what the engine, or a session that died in the middle of a fault, left: cuts, frozen and stopped nodes,
    frozen, full and shut down disks.

    Raises InfrastructureError when the cluster does not settle.
    """
    with ThreadPoolExecutor(max_workers=len(cluster.nodes)) as pool:
        # The dead session's agents have healed their cuts, unless the engine ended them, too.
        list(pool.map(lambda node: _heal(cluster, node), cluster.nodes.values()))
    if cluster.healthy():
        return
    for node in cluster.nodes.values():
        rouse(node)
    wait_settled(cluster)


def rouse(node: DockerNode) -> None:
    """Let a node run, however it was halted."""
    node.thaw()
    if node.state() == "paused":
        node.signal("CONT")
    if node.state() == "stopped":
        node.start()


def _heal(cluster: DockerCluster, node: DockerNode) -> None:
    cluster.client.api.start(node.pod)  # a restart of the engine ends it; nothing happens where it runs
    node.shell(f"{HEAL}\ntrue", timeout=5)
    if cluster.plan.backing(node.member) is not None and not node.disk.mend():
        node.kill()  # whoever starts it, gives it the disk anew


def wait_settled(cluster: DockerCluster, *, limit: float = LIMIT) -> None:
    """Wait until every node serves and every partition of every topic has a leader and a full ISR."""
    until(lambda: unsettled(cluster), "the cluster settled", limit=limit, dead=cluster.ended)


def unsettled(cluster: DockerCluster) -> str | None:
    """What still keeps the cluster from being settled, or None."""
    if (text := absent(cluster)) is not None:
        return text
    for node, address in cluster.brokers.items():
        for (topic, partition), view in metadata_views.metadata(address, None).items():
            if view.leader < 0 or set(view.isr) != set(view.replicas):
                isr = f"ISR {list(view.isr)} of {list(view.replicas)}"
                return f"broker {node} sees {topic}-{partition} with leader {view.leader}, {isr}"
    return None


@contextmanager
def admin(cluster: DockerCluster) -> Iterator[Any]:
    """An admin client of the library."""
    client = KafkaAdminClient(**access(cluster.brokers.values()), request_timeout_ms=20_000)
    try:
        yield client
    finally:
        client.close()


def _in_order(cluster: DockerCluster) -> list[int]:
    """Those others depend on first."""
    order = ("zookeeper", "controller", "combined", "broker")
    return sorted(cluster.nodes, key=lambda node: (order.index(cluster.nodes[node].member.role), node))


def _restart_with(cluster: DockerCluster, spec: ClusterSpec, nodes: Sequence[int]) -> None:
    """Restart brokers one after another, with the files that follow from `spec`."""
    for node in nodes:
        changed = cluster.nodes[node]
        changed.put(replace(cluster.plan, spec=spec).launch(changed.member, changed.place).archive)
        changed.restart()
        wait_settled(cluster)


def _replace(cluster: DockerCluster, node: DockerNode, plan: Plan, *, keep_data: bool) -> None:
    """Give a stopped node a new container in its old pod, and start it."""
    api = cluster.client.api
    if not keep_data:
        node.disk.close()  # it, too, uses the volume
    api.remove_container(node.container, force=True, v=True)
    if not keep_data:
        plan.remove_volumes(api, node.member)
    node.container = plan.create_container(api, node.member, node.place, pod=node.pod)
    node.start()


def _remove_parts(cluster: DockerCluster, member: Member, pod: str | None) -> None:
    api, plan = cluster.client.api, cluster.plan
    for container in (sidecar_name(plan.name(member)), plan.name(member), pod):
        if container is not None:
            _gone(lambda container=container: api.remove_container(container, force=True, v=True))  # type: ignore[misc]
    plan.remove_volumes(api, member)


def _gone(remove: Callable[[], object]) -> None:
    try:
        remove()
    except APIError as error:
        if error.status_code != 404:
            raise


def _drain(cluster: DockerCluster, node: int) -> None:
    """Move all replicas off a broker, each to the broker that then has the fewest."""
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
    with admin(cluster) as client:
        refused = {log: error for log, error in client.alter_partition_reassignments(moves).items() if error}
    if refused:
        raise InfrastructureError(f"Kafka refused to move replicas off broker {node}: {refused}")

    def left() -> str | None:
        for address in cluster.brokers.values():
            for log, view in metadata_views.metadata(address, None).items():
                if node in view.replicas:
                    return f"{log[0]}-{log[1]} still has a replica on it"
        return None

    until(left, f"broker {node} drained", limit=LIMIT)


def _unregister(cluster: DockerCluster, node: int) -> None:
    # kafka-python has no such request; Kafka's own tool is in every node's container.
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


def _checked(
    cluster: DockerCluster, settings: Mapping[str, object], *, dynamic: bool = False
) -> dict[str, str]:
    wanted = {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }
    check_settings(wanted, kind="broker", where="settings", version=cluster.spec.version, dynamic=dynamic)
    return wanted


def _node(cluster: DockerCluster, node: int) -> DockerNode:
    if node not in cluster.nodes:
        raise UsageError(
            f"the cluster has no node {node}; it has {', '.join(map(str, sorted(cluster.nodes)))}"
        )
    return cluster.nodes[node]


def _broker(cluster: DockerCluster, node: int) -> DockerNode:
    if node not in cluster.brokers:
        raise UsageError(
            f"no broker is node {node}; brokers are {', '.join(map(str, sorted(cluster.brokers)))}"
        )
    return cluster.nodes[node]
