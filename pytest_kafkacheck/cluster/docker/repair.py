"""Brings a cluster back that the engine, or a session that died during a fault, left broken.

At an attached cluster, settings of Kafka and the places of replicas are not examined: their owner may want them as
they are. `mend_leftovers` does there what the guardian of a killed session would have done, had it not been killed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from docker.errors import APIError

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.kafka.waiting import wait_settled
from pytest_kafkacheck.cluster.nodes.health import (
    end_network_faults,
    leftovers,
    lift_limits,
    restore_clock,
    restore_settings,
    wrong_clock,
)
from pytest_kafkacheck.errors import InfrastructureError

log = logging.getLogger(__name__)


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


def mend_leftovers(cluster: DockerCluster) -> None:
    """Remove rules and queues that kafkacheck made, and make clocks right. The cluster must have settled.

    Raises InfrastructureError for queues that kafkacheck did not make, and APIError and OSError where a look fails.
    """
    nodes = cluster.nodes.values()
    if found := leftovers(cluster):
        with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
            list(pool.map(end_network_faults, nodes))
        if remaining := leftovers(cluster):
            raise InfrastructureError(
                f"The attached cluster is not as kafkacheck needs it: {'; '.join(remaining)}. kafkacheck did not "
                f"make that, and its faults would replace it. Remove it first, such as with `tc qdisc del dev eth0 "
                f"root` in the container's network."
            )
        log.warning("removed what an earlier session of kafkacheck had left: %s", "; ".join(found))
    make_clocks_right(cluster)


def make_clocks_right(cluster: DockerCluster) -> None:
    """Clear the wrong clocks, and restart their nodes, one after another.

    Kafka computes from the wall clock when it may connect to a peer again. A clock that was ahead leaves it waiting.
    """
    nodes: Mapping[int, DockerNode] = dict(cluster.nodes)
    with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
        are_wrong = list(pool.map(_has_wrong_clock, nodes.values()))
    for node, is_wrong in zip(nodes.values(), are_wrong, strict=True):
        if is_wrong:
            log.warning("the clock of %s was wrong; it is right again, and the node is restarted", node.host)
            node.clock.clear()
            node.restart()
            wait_settled(cluster)


def _has_wrong_clock(node: DockerNode) -> bool:
    # A host on which clocks cannot be read cannot set them either.
    with suppress(InfrastructureError):
        return wrong_clock(node) is not None
    return False
