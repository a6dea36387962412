"""Wrong clocks, on a real cluster."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from kafka import KafkaProducer

from pytest_kafkacheck import clock
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.experiment import Experiment
from tests.support.fault_run import LONG, Injection, eventually
from tests.support.real_cluster import own
from workloads.append_log import AppendLog
from workloads.clients.kafka_python import access

pytestmark = pytest.mark.cluster


def test_records_get_the_time_of_a_wrong_clock(cluster: DockerCluster) -> None:
    name = own("clock")
    topics.create(
        cluster.brokers, name, assignment={0: [1], 1: [2]}, config={"message.timestamp.type": "LogAppendTime"}
    )
    lifecycle.wait_settled(cluster)

    def ahead(partition: int) -> float:
        producer = KafkaProducer(**access(cluster.brokers.values()))
        try:
            stamped = producer.send(name, b"when", partition=partition).get(timeout=10)
            return float(stamped.timestamp) / 1000 - time.time()
        finally:
            producer.close()

    with Injection(cluster, clock(2, lasting=LONG, offset=600), topic=name):
        assert ahead(1) == pytest.approx(600, abs=10)
        assert ahead(0) == pytest.approx(0, abs=10)
    assert ahead(1) == pytest.approx(0, abs=10)
    topics.delete(cluster.brokers, name)
    lifecycle.rolling_restart(cluster, nodes=[2])  # see below


def test_a_cluster_can_be_reused_after_an_experiment_with_clocks(
    cluster: DockerCluster, tmp_path: Path
) -> None:
    """A broker whose clock went back would not try to reach a peer again for ten minutes."""
    before = {node: cluster.nodes[node].incarnation() for node in cluster.nodes}
    wrong = Experiment(
        workload=AppendLog(), faults=[clock(2, at=0.5, lasting=3, offset=600)], duration=4, cooldown=0
    )
    execute(wrong, cluster, run=own("clocks"), home=tmp_path, say=print, stop=threading.Event())
    anew = [node for node, since in before.items() if cluster.nodes[node].incarnation() != since]
    assert anew == [2]
    lifecycle.wait_settled(cluster)
    for _ in range(2):
        deposed = cluster.controller()
        assert deposed is not None
        cluster.nodes[deposed].kill()
        assert eventually(lambda was=deposed: cluster.controller() not in (None, was))  # type: ignore[misc]
        cluster.nodes[deposed].start()
        lifecycle.wait_settled(cluster)
