"""The clusters on which claims are shown. Scenarios share a cluster where the specs are equal, so use these."""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Case
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

KRAFT = ClusterSpec()
NEWEST = ClusterSpec(version="4.3.0")
ZOOKEEPER = ClusterSpec(version="3.9.2", zookeepers=1)
OLDEST = ClusterSpec(version="2.8.2", zookeepers=1)
CONTROLLERS_APART = ClusterSpec(controllers=3)
RACKS = ClusterSpec(
    racks=("a", "b", "c"),
    config={
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "replica.fetch.wait.max.ms": "500",
    },
)

CURRENT = (Case(name="4.1.1", cluster=KRAFT),)
BOTH_MODES = (*CURRENT, Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER))

DISKS = ClusterSpec(controllers=1, disk_mb=256)
"""Eligible leader replicas are on by default since Kafka 4.1."""
