"""A test's own clients under a fault, on real brokers: recorded, read once more, and judged as a workload is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka import KafkaConsumer, KafkaProducer

from pytest_kafkacheck import isolate
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.recorder.session import Recording
from tests.support.real_cluster import own, wait_until
from workloads.clients.kafka_python.settings import access

pytestmark = pytest.mark.cluster


def recording(cluster: DockerCluster, harness: Harness, tmp_path: Path, name: str) -> Recording:
    home = RunDirectory.create(tmp_path, name=name, run=name)
    return Recording(home, cluster, harness, run=name, test=f"test_mine.py::test_{name}", unknown=False)


def test_lost_writes_of_own_clients_are_found_and_kept_ones_are_valid(
    cluster: DockerCluster, harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both under the same fault: kafka-python with acks=1, and confluent-kafka with acks=all. A consumer follows."""
    unsafe, safe = (recording(cluster, harness, tmp_path, name) for name in ("unsafe", "safe"))

    def both() -> Callable[[Mapping[str, Any]], None]:
        takers = [each.fault_rows() for each in (unsafe, safe)]
        return lambda row: [take(row) for take in takers] and None

    monkeypatch.setattr(cluster, "fault_rows", both)
    name = own("orders")
    topics.create(cluster.brokers, name, assignment={0: [1, 2, 3]}, config={"min.insync.replicas": 2})
    wait_until(lambda: cluster.leader(name, 0) is not None)
    leader = cluster.leader(name, 0)
    hasty = unsafe.producer(KafkaProducer(**access(cluster.brokers.values()), acks=1))
    # Without idempotence, which is the default of librdkafka, a send whose answer is lost may be written twice.
    settings = {"bootstrap.servers": ",".join(cluster.bootstrap), "enable.idempotence": True}
    careful = safe.producer(confluent_kafka.Producer(settings), settings=settings)
    reader = safe.consumer(
        KafkaConsumer(
            name, **access(cluster.brokers.values()), group_id=None, auto_offset_reset="earliest",
            metadata_max_age_ms=1000,
        )
    )  # fmt: skip

    def send(count: int) -> None:
        for _ in range(count):
            hasty.send(name, b"hasty")
            careful.produce(name, b"careful")
            careful.poll(0)
            reader.poll(timeout_ms=10)

    send(50)
    with cluster.fault(isolate(f"leader:{name}-0")) as fault:
        assert fault.nodes == (leader,)
        send(50)
        wait_until(lambda: cluster.leader(name, 0) not in (leader, None))
        send(50)
    cluster.wait_settled()
    send(50)
    hasty.flush(60)
    assert careful.flush(60) == 0
    for client in (hasty, reader):
        client.close()
    lost = unsafe.judge()
    lost.assert_invalid("lost-write")
    (cause,) = (each for each in lost.verdict.causes if "lost-write" in each.findings)
    assert (cause.kind, cause.name, cause.change) == (
        "truncation",
        "acks=1",
        "acks=all with min.insync.replicas=2",
    )
    assert cause.settings == {
        "acks": "1", "min.insync.replicas": "2", "unclean.leader.election.enable": "false"
    }  # fmt: skip
    assert "again  pytest test_mine.py::test_unsafe" in lost.text()
    kept = safe.judge()
    kept.assert_valid()
    assert safe.judge() is kept
    (struck,) = kept.verdict.exercised.faults
    assert (struck.fault, struck.nodes, struck.effective, struck.healed) == ("isolate", (leader,), True, True)
    assert kept.verdict.exercised.acks == 200
    assert kept.verdict.exercised.polls > 200, "its own polls, and the final read"
    assert time.monotonic_ns() > (kept.verdict.began or 0) > 0
