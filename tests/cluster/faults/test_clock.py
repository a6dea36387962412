"""Wrong clocks, on a real cluster."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from kafka import KafkaProducer

from nemesis.event import Event
from pytest_kafkacheck import clock, isolate
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.clock import VirtualClock
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.kafka.append_time import PREFIX
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.experiment import Experiment
from tests.support.fault_run import LONG, Injection, eventually, unproved
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


@pytest.mark.parametrize(
    "event",
    [
        clock(2, lasting=LONG, offset=-600),
        pytest.param(clock(2, lasting=LONG, ppm=50_000), marks=pytest.mark.nightly),
    ],
)
def test_a_clock_that_the_broker_does_not_see_is_not_proved(
    cluster: DockerCluster, topic: str, monkeypatch: pytest.MonkeyPatch, event: Event
) -> None:
    """As if the process read the time in another way than from the memory that was changed."""
    wanted = event.fault.options()
    monkeypatch.setattr(VirtualClock, "set", lambda *_: None)
    monkeypatch.setattr(VirtualClock, "get", lambda _: (wanted.get("offset", 0), wanted.get("ppm", 0)))
    monkeypatch.setattr(VirtualClock, "clear", lambda _: monkeypatch.undo())
    evidence = unproved(Injection(cluster, event, topic=topic))
    assert evidence["ahead"][0] < 0 < evidence["ahead"][1]
    assert evidence["stated_in"] == "append time of a record"


@pytest.mark.nightly
def test_a_drift_is_measured(cluster: DockerCluster, topic: str) -> None:
    with Injection(cluster, clock(3, lasting=LONG, ppm=50_000), topic=topic) as injection:
        least, most = injection.injected["evidence"]["drift_ppm"]
        assert 0 < least < 50_000 < most
    assert not [name for name in names(cluster) if name.startswith(PREFIX)]


def names(cluster: DockerCluster) -> set[str]:
    return {name for name, _ in metadata_views.metadata(cluster.brokers[1], None)}


@pytest.mark.nightly
def test_a_broker_that_learns_of_no_topic_is_asked_by_a_thread_dump(
    cluster: DockerCluster, topic: str
) -> None:
    with Injection(cluster, isolate(3, lasting=LONG), topic=topic):
        for _ in ("at once", "fenced"):
            cut_off = cluster.ahead(3)
            assert cut_off.source == "head of a thread dump"
            assert cut_off.least < 0 < cut_off.most
            assert eventually(lambda: cluster.kafka.registration(3) == "fenced")
    lifecycle.wait_settled(cluster)


@pytest.mark.nightly  # test_repair.py restores a clock, too
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
