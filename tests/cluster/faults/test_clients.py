"""Faults of clients, on a real cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nemesis.event import Event
from nemesis.tasks import wait_until
from pytest_kafkacheck import isolate_client, kill_client, pause_client
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.experiment.clients import WorkerClients
from tests.support.fault_run import LONG, Injection, eventually
from workloads.clients.network_gate import GATE
from workloads.workers.pool import WorkerPool

pytestmark = pytest.mark.cluster


def progress(workers: WorkerPool, *, limit: float = 20) -> bool:
    """Whether writes are acknowledged within that many seconds. There are 200 per second."""
    before = workers.acknowledged()
    return wait_until(lambda: workers.acknowledged() > before + 10, limit=limit)


@pytest.mark.parametrize(
    ("fault", "in_kernel"),
    [
        (kill_client, True),
        (pause_client, True),
        (isolate_client, True),
        pytest.param(isolate_client, False, marks=pytest.mark.nightly),
    ],
)
def test_a_client_makes_no_progress_during_its_fault(
    cluster: DockerCluster, topic: str, workers: WorkerPool, fault: Callable[..., Event], in_kernel: bool
) -> None:
    """in_kernel: unless this host cannot, clients are isolated there, and otherwise in their process."""
    clients = WorkerClients(workers, lambda: cluster.brokers)
    if not in_kernel:
        for worker in workers.workers.values():
            worker.cuts = None
    assert progress(workers)
    with Injection(cluster, fault("producer", lasting=LONG), topic=topic, clients=clients) as injection:
        assert injection.injected["processes"] == [0]
        end = cluster.kafka.ends(topic, 0)[1]
        # Answers from before the cut, and counts of them, still come for some tenths of a second.
        assert eventually(lambda: not progress(workers, limit=2))
        # Records in flight may still have been written. After that nothing is written.
        now = cluster.kafka.ends(topic, 0)[1]
        assert now <= end + 500
        assert cluster.kafka.ends(topic, 0)[1] == now
    assert progress(workers)
    assert cluster.kafka.ends(topic, 0)[1] > now
    assert sorted(clients.roles().values()) == ["producer", "reader"]


def test_single_requests_of_an_isolated_process_get_no_answer(cluster: DockerCluster) -> None:
    """They use no client library. This process closes its own gate."""
    assert cluster.answers(1)
    GATE.close()
    try:
        assert not any(cluster.answers(node) for node in cluster.brokers)
        assert GATE.tried >= 3
    finally:
        GATE.open()
    assert cluster.answers(1)
