"""Limits of processor time and memory, on a real cluster."""

from __future__ import annotations

import time

import pytest

from pytest_kafkacheck import cpu, memory
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from tests.support.fault_run import LONG, Injection, eventually

pytestmark = pytest.mark.cluster


def test_little_processor_time(cluster: DockerCluster, topic: str) -> None:
    def answer() -> float:
        begun = time.monotonic()
        for _ in range(5):
            cluster.answers(2)
        return time.monotonic() - begun

    with Injection(cluster, cpu(2, lasting=LONG, cores=0.02), topic=topic):
        slow = answer()
        assert cluster.nodes[2].cpu_limit() == pytest.approx(0.02)
    assert eventually(lambda: 3 * answer() < slow)
    assert cluster.nodes[2].cpu_limit() is None
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize("spare_mb", [pytest.param(8, marks=pytest.mark.nightly), 64])
def test_little_memory(cluster: DockerCluster, topic: str, spare_mb: int) -> None:
    """With 8 MiB the heap may grow beyond the limit, and then the kernel kills the broker."""
    node = cluster.nodes[2]

    def allowed() -> int:
        return int(cluster.client.api.inspect_container(node.container)["HostConfig"]["Memory"])

    def killed() -> bool:
        return node.state() == "stopped" and node.killed_for_memory()

    with Injection(cluster, memory(2, lasting=LONG, spare_mb=spare_mb), topic=topic) as injection:
        small = allowed()
        assert small < 2 << 30
        assert eventually(lambda: cluster.answers(2) or (spare_mb == 8 and killed()))
    assert injection.rows["heal"]["value"]["evidence"]["killed_for_memory"] in (
        (False,) if spare_mb > 8 else (False, True)
    )
    assert allowed() > small
    lifecycle.wait_settled(cluster)
