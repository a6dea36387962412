"""Brings a cluster back that the engine, or a session that died during a fault, left broken."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from docker.errors import APIError

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.leftovers import (
    end_network_faults,
    leftovers,
    lift_limits,
    restore_clock,
    restore_settings,
)
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.kafka.settling import wait_settled
from pytest_kafkacheck.errors import InfrastructureError


def repair(cluster: DockerCluster) -> None:
    """Undo what faults left: rules, limits, clocks, settings; resume and start nodes; repair their disks.

    No other session may use the cluster meanwhile. Raises InfrastructureError when the cluster does not settle, or
    when something remains that cannot be undone, such as a broker that was added.
    """
    with ThreadPoolExecutor(max_workers=len(cluster.nodes)) as pool:
        list(pool.map(lambda node: _heal(cluster, node), cluster.nodes.values()))
    if cluster.healthy():
        return
    for node in cluster.nodes.values():
        resume(node)
    wait_settled(cluster)
    with ThreadPoolExecutor(max_workers=len(cluster.nodes)) as pool:
        was_wrong = list(pool.map(restore_clock, cluster.nodes.values()))
    for node, is_late in zip(tuple(cluster.nodes.values()), was_wrong, strict=True):
        if is_late:
            node.restart()
            wait_settled(cluster)
    try:
        restore_settings(cluster)
        remaining = leftovers(cluster)
    except (OSError, APIError) as error:
        raise InfrastructureError(f"Cluster {cluster.run} could not be restored: {error!r}") from error
    if remaining:
        raise InfrastructureError(f"Cluster {cluster.run} is not as it was started: {'; '.join(remaining)}.")


def resume(node: DockerNode) -> None:
    """Let a node run again that is frozen, stopped by a signal, or not running."""
    node.thaw()
    if node.state() == "paused":
        node.signal("CONT")
    if node.state() == "stopped":
        node.start()


def _heal(cluster: DockerCluster, node: DockerNode) -> None:
    cluster.client.api.start(node.pod)  # a restart of the engine ends the pod; a running one is left alone
    end_network_faults(node)
    lift_limits(node)
    if cluster.plan.backing(node.member) is not None and not node.disk.repair():
        node.kill()  # the next start mounts the disk anew
