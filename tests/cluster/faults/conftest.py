"""Fixtures for faults on a real cluster: a topic, and clients that work on it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from tests.support.fault_run import eventually
from tests.support.real_cluster import own
from workloads.append_log import AppendLog
from workloads.workers.pool import WorkerPool
from workloads.workload import Topic


@pytest.fixture
def topic(cluster: DockerCluster) -> Iterator[str]:
    lifecycle.wait_settled(cluster)
    # Of its own for each test: what a client that was cut off has sent may arrive seconds after the test.
    name = f"{own('faults')}-{secrets.token_hex(4)}"
    topics.create(cluster.brokers, name, assignment={0: [1, 2, 3]})
    # A client that asks a broker that does not know the topic yet asks again only after minutes.
    assert eventually(lambda: cluster.kafka.partitions(name) == 1)
    lifecycle.wait_settled(cluster)
    yield name
    topics.delete(cluster.brokers, name)


@pytest.fixture
def workers(cluster: DockerCluster, topic: str, tmp_path: Path) -> Iterator[WorkerPool]:
    rows: list[Mapping[str, Any]] = []
    workload = AppendLog(partitions=1, producers=1, readers=1, sessions=0, rate=200)
    with WorkerPool(
        workload.workers(), run="r", home=tmp_path, brokers=cluster.brokers,
        topics=[Topic(name=topic, partitions=1, replication_factor=3)], record=rows.append, cuts=True,
    ) as workers:  # fmt: skip
        workers.go()
        assert eventually(lambda: workers.acknowledged() > 0)
        yield workers
        workers.stop()
    events = [row["value"]["event"] for row in rows]
    assert "crashed" not in events, rows
