"""Changes a running cluster: brokers are added, removed or lose their data; settings and releases change.

Each function returns when the cluster has settled: every node serves and every ISR is full. Ports, addresses and ids
stay the same. Every function raises InfrastructureError when the cluster does not settle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka.errors import KafkaError

from pytest_kafkacheck.cluster.docker.class_archive import archived_image
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import require_image
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.docker.membership import add_broker, remove_broker
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import Plan
from pytest_kafkacheck.cluster.docker.repair import repair
from pytest_kafkacheck.cluster.kafka import dynamic
from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.settling import unsettled, wait_settled
from pytest_kafkacheck.cluster.spec.settings import check_settings
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError

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

PROTOCOL_VERSION = "inter.broker.protocol.version"


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
    _replace(cluster, wiped, cluster.plan, keep_data=False)
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


def rolling_restart(cluster: DockerCluster, *, nodes: Sequence[int] = ()) -> None:
    """Restart nodes in a controlled way, one after another; controllers and ZooKeeper nodes first."""
    for node in nodes or _in_order(cluster):
        cluster.require_node(node).restart()
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
    image = archived_image(cluster.client, image) or image
    mixed = spec
    if not spec.kraft and PROTOCOL_VERSION not in spec.config:
        mixed = replace(spec, config={**spec.config, PROTOCOL_VERSION: before.release.line})
    cluster.plan = replace(cluster.plan, spec=mixed, image=image, checkpoint=None)
    for node in _in_order(cluster):
        moving = cluster.require_node(node)
        moving.stop()
        _replace(cluster, moving, cluster.plan, keep_data=True)
        wait_settled(cluster)
    if mixed != spec:
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


def _in_order(cluster: DockerCluster) -> list[int]:
    """All node ids; nodes that others depend on come first."""
    order = ("zookeeper", "controller", "combined", "broker")
    return sorted(cluster.nodes, key=lambda node: (order.index(cluster.nodes[node].member.role), node))


def _restart_with(cluster: DockerCluster, spec: ClusterSpec, nodes: Sequence[int]) -> None:
    """Restart brokers one after another with the configuration files for `spec`."""
    for node in nodes:
        changed = cluster.nodes[node]
        changed.put(replace(cluster.plan, spec=spec).launch(changed.member, changed.endpoint).archive)
        changed.restart()
        wait_settled(cluster)


def _replace(cluster: DockerCluster, node: DockerNode, plan: Plan, *, keep_data: bool) -> None:
    """Give a stopped node a new container in its old pod, and start it."""
    api = cluster.client.api
    if not keep_data:
        node.disk.close()  # its sidecar uses the volume as well
    api.remove_container(node.container, force=True, v=True)
    if not keep_data:
        plan.remove_volumes(api, node.member)
    node.container = plan.create_container(api, node.member, node.endpoint, pod=node.pod)
    node.start()


def _checked(
    cluster: DockerCluster, settings: Mapping[str, object], *, dynamic: bool = False
) -> dict[str, str]:
    wanted = {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }
    check_settings(wanted, kind="broker", where="settings", version=cluster.spec.version, dynamic=dynamic)
    return wanted
