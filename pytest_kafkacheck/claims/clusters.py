"""The clusters on which claims are shown. Scenarios share a cluster where the specs are equal, so use these."""

from __future__ import annotations

from dataclasses import replace

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

PATIENT = ClusterSpec(config={"broker.session.timeout.ms": "20000"})
"""A broker that is paused for some seconds keeps its partitions."""

RETENTION = ClusterSpec(config={"log.retention.check.interval.ms": "300"})

CURRENT = (Case(name="4.1.1", cluster=KRAFT),)
BOTH_MODES = (*CURRENT, Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER))

DISKS = ClusterSpec(controllers=1, disk_mb=256)
"""Eligible leader replicas are on by default since Kafka 4.1."""


TRANSACTION_VERSION = "transaction.version"


def _of_transactions(cluster: ClusterSpec) -> tuple[Case, Case]:
    return (
        Case(name=cluster.version, cluster=cluster),
        Case(
            name=f"{cluster.version} {TRANSACTION_VERSION}=1",
            cluster=replace(cluster, features={TRANSACTION_VERSION: 1}),
            expected="refuted",
            why="before transaction version 2 all transactions of a producer have the same epoch (KAFKA-17754), also "
            "on 4.x with clients that do not speak version 2",
        ),
    )


TRANSACTION_VERSIONS = (
    *_of_transactions(KRAFT),
    *_of_transactions(NEWEST),
    Case(
        name="3.9.2 ZooKeeper",
        cluster=ZOOKEEPER,
        expected="refuted",
        why="all transactions of a producer have the same epoch (KAFKA-17754)",
    ),
)


def one_coordinator(version: str) -> ClusterSpec:
    """Coordinators of transactions wait for no other broker, and a broker waits long for a coordinator."""
    return ClusterSpec(
        version=version,
        config={
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "request.timeout.ms": "30000",
        },
    )
