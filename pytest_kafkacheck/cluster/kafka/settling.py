"""A cluster has settled when every node serves, and every partition has a leader and a full ISR."""

from __future__ import annotations

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.running_cluster import RunningCluster
from pytest_kafkacheck.cluster.kafka.waiting import wait_until

LIMIT = 120.0
"""Seconds for a cluster to settle after one change."""


def wait_settled(cluster: RunningCluster, *, limit: float = LIMIT) -> None:
    """Wait until the cluster has settled. Raises InfrastructureError after `limit` seconds, or when a node ends."""
    wait_until(lambda: unsettled(cluster), "the cluster settled", limit=limit, dead=cluster.ended)


def unsettled(cluster: RunningCluster) -> str | None:
    """One reason why the cluster has not settled, or None. Raises OSError where a broker does not answer."""
    if (reason := not_serving(cluster)) is not None:
        return reason
    for node, address in cluster.brokers.items():
        for (topic, partition), view in metadata_views.metadata(address, None).items():
            if view.leader < 0 or set(view.isr) != set(view.replicas):
                isr = f"ISR {list(view.isr)} of {list(view.replicas)}"
                return f"broker {node} sees {topic}-{partition} with leader {view.leader}, {isr}"
    return None


def not_serving(cluster: RunningCluster) -> str | None:
    """A node that does not serve, or a broker that does not know all others, or None. Raises OSError."""
    brokers = cluster.brokers
    for node, address in brokers.items():
        if (seen := metadata_views.unfenced(address)) != set(brokers):
            return f"broker {node} sees {sorted(seen)} of {sorted(brokers)}"
    for node in cluster.nodes:
        if node not in brokers and not cluster.serving(node):
            return f"node {node} does not serve"
    return None
