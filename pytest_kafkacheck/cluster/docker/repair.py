"""Brings a cluster back that the engine, or a session that died during a fault, left broken."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pytest_kafkacheck.cluster.docker.agent import HEAL
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.kafka.settling import wait_settled


def repair(cluster: DockerCluster) -> None:
    """Undo network faults, resume and start nodes, and thaw, empty and remount their disks.

    Raises InfrastructureError when the cluster does not settle.
    """
    with ThreadPoolExecutor(max_workers=len(cluster.nodes)) as pool:
        # The dead session's agents heal network faults by themselves, unless the engine ended the agents, too.
        list(pool.map(lambda node: _heal(cluster, node), cluster.nodes.values()))
    if cluster.healthy():
        return
    for node in cluster.nodes.values():
        resume(node)
    wait_settled(cluster)


def resume(node: DockerNode) -> None:
    """Let a node run again that is frozen, stopped by a signal, or not running."""
    node.thaw()
    if node.state() == "paused":
        node.signal("CONT")
    if node.state() == "stopped":
        node.start()


def _heal(cluster: DockerCluster, node: DockerNode) -> None:
    cluster.client.api.start(node.pod)  # a restart of the engine ends the pod; a running one is left alone
    node.shell(f"{HEAL}\ntrue", timeout=5)
    if cluster.plan.backing(node.member) is not None and not node.disk.repair():
        node.kill()  # the next start mounts the disk anew
