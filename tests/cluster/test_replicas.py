"""Replicas are compared as they lie on the brokers' disks, and as brokers answer for them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

from nemesis.event import Event
from nemesis.fault import FaultContext, Proof
from nemesis.faults.corrupt import Corrupt
from nemesis.registry import FAULTS
from pytest_kafkacheck.cluster.docker import node
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import served_cluster, topics
from pytest_kafkacheck.cluster.kafka.waiting import wait_settled
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.operations import OperationLog
from pytest_kafkacheck.experiment.recovery import UsedCluster
from pytest_kafkacheck.experiment.replicas import METADATA, compare_replicas
from pytest_kafkacheck.run import Run
from workloads.append_log import AppendLog
from workloads.clients.kafka_python import access
from workloads.history.schema import HARNESS, OPERATIONS
from workloads.history.segments import read

pytestmark = pytest.mark.cluster

COUNT = 300


@pytest.fixture
def topic(cluster: DockerCluster) -> Iterator[str]:
    """With one partition, replicated to all brokers, and records in batches of several."""
    name = f"replicas-{uuid.uuid4().hex[:8]}"
    topics.create(cluster.brokers, name, replication_factor=3, config={"min.insync.replicas": "3"})
    producer = KafkaProducer(**access(cluster.brokers.values()), acks="all", linger_ms=20)
    for number in range(COUNT):
        producer.send(name, f"value {number}".encode(), partition=0)
    producer.flush(20)
    producer.close()
    wait_settled(cluster)
    yield name
    topics.delete(cluster.brokers, name)


def compared(cluster: UsedCluster, topic: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Rows by f and partition, and what was said of differences."""
    folder = folder / uuid.uuid4().hex
    operations = OperationLog(folder, "r", HARNESS)
    _, lines = compare_replicas(cluster, [topic], operations, run="r")
    operations.close()
    (segment,) = (folder / "segments").iterdir()
    return {f"{row['f']} {row['topic']}": row for row in read(segment, OPERATIONS).to_pylist()}, lines


def test_a_flipped_byte_is_found(cluster: DockerCluster, topic: str, tmp_path: Path) -> None:
    brokers = served_cluster.find(cluster.brokers.values())
    rows, lines = compared(cluster, topic, tmp_path)
    assert not lines
    assert (rows[f"comparison {topic}"]["type"], rows[f"comparison {topic}"]["end_offset"]) == ("ok", COUNT)
    assert rows[f"comparison {METADATA[0]}"]["type"] == "ok"
    rows, lines = compared(brokers, topic, tmp_path)
    assert not lines
    assert rows.keys() == {f"comparison {topic}"}
    file = f"/k/data/{topic}-0/00000000000000000000.log"
    # The text of a record: each byte from there to the end of its batch counts for the checksum.
    status, output = cluster.nodes[2].execute(
        f"at=$(grep -abo 'value 150' {file} | head -1 | cut -d: -f1); "
        f"printf V | dd of={file} bs=1 seek=$at conv=notrunc"
    )
    assert status == 0, output
    for source in (cluster, brokers):
        rows, lines = compared(source, topic, tmp_path)
        assert len(lines) == 1
        assert topic in lines[0]
        row = rows[f"divergence {topic}"]
        assert 0 <= row["start_offset"] <= 150
        assert '"2": {"digest": "ValueError: wrong checksum"' in row["value"]


def test_partitions_beyond_the_limit_are_left_out(
    cluster: DockerCluster, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "MOST", 1000)
    rows, lines = compared(cluster, topic, tmp_path)
    assert rows[f"comparison {topic}"]["type"] == "info"
    assert "at most 0 MiB of a broker are compared" in rows[f"comparison {topic}"]["error"]
    assert len(lines) == 1
    assert lines[0].startswith("not compared: the replicas of ")


@dataclass(frozen=True, kw_only=True)
class Flip(Corrupt):
    """As `corrupt` with how="flip", of a broker that goes on running."""

    name = "flip"

    def inject(self, context: FaultContext) -> None:
        context.notes["status"], context.notes["output"] = context.node.disk.run(self._script(context))

    def verify_injected(self, context: FaultContext) -> Proof:
        return Proof(context.notes["status"] == 0, {"output": context.notes["output"]})

    def heal(self, context: FaultContext) -> None:
        """The byte stays."""

    def verify_healed(self, context: FaultContext) -> Proof:  # noqa: ARG002
        return Proof(True, {})


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_a_replica_that_changed_makes_a_run_invalid(
    kafkacheck: Callable[[Experiment], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No consumer reads from the follower, so no other check can find it."""
    monkeypatch.setitem(FAULTS, Flip.name, Flip)
    workload = AppendLog(partitions=1, rate=200)
    flip = Event.of(Flip(how="flip"), "follower", at=2, after=None, lasting=1)
    run = kafkacheck(Experiment(workload=workload, faults=[flip], expect="invalid"))
    run.assert_invalid("replica-divergence")
    (finding,) = run.verdict.findings
    (example,) = finding.examples
    assert finding.anomaly == "replica-divergence"
    assert '"digest":"ValueError: wrong checksum"' in example["copies"]
