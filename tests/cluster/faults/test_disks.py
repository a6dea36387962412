"""Faults of disks, on a cluster whose nodes have file systems of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nemesis.event import Event
from pytest_kafkacheck import disk_full, disk_stall, log_dir_failure, power_loss
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.setup.capabilities import missing_capabilities
from tests.support.fault_run import LONG, Injection, eventually, produce
from tests.support.real_cluster import own

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def disks(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    if (why := missing_capabilities(engine, ["disks"])["disks"]) is not None:
        pytest.skip(f"power-loss, disk-full, disk-stall and log-dir-failure need disks of their own: {why}")
    spec, logs = ClusterSpec(disk_mb=128), tmp_path_factory.mktemp("disks")
    with running(engine, spec, run=own("disks"), logs=logs) as cluster:
        topics.create(cluster.brokers, "t", assignment={0: [1, 2, 3]})
        yield cluster


@pytest.mark.parametrize("fault", [power_loss, log_dir_failure, disk_full])
def test_a_disk_that_ends_its_broker(disks: DockerCluster, fault: Callable[..., Event]) -> None:
    assert eventually(lambda: produce(disks, "t", count=20) == 20)
    with Injection(disks, fault("leader", lasting=LONG), topic="t") as injection:
        (node,) = injection.nodes

        def down() -> bool:
            produce(disks, "t", count=20, size=100_000, acks=1)
            return not disks.answers(node)

        assert eventually(down)
        assert eventually(lambda: disks.leader("t", 0) not in (None, node))
    assert eventually(lambda: disks.answers(node))
    lifecycle.wait_settled(disks)


def test_a_stalled_disk(disks: DockerCluster) -> None:
    assert eventually(lambda: produce(disks, "t", count=20) == 20)
    with Injection(disks, disk_stall("leader", lasting=LONG), topic="t"):
        assert produce(disks, "t", count=5, acks=1) == 0
    assert eventually(lambda: produce(disks, "t", count=20) == 20)
    lifecycle.wait_settled(disks)
