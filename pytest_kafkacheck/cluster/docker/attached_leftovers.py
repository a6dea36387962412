"""What an earlier session left at an attached cluster whose guardian was killed as well.

Settings of Kafka and the places of replicas are not examined: their owner may want them as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.leftovers import end_network_faults, leftovers, wrong_clock
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.kafka.settling import wait_settled
from pytest_kafkacheck.errors import InfrastructureError

log = logging.getLogger(__name__)


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
