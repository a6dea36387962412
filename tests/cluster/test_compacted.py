"""Compacted topics on real brokers: safe settings are valid, and a reader that misses tombstones is found."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.attempt_patches import attempt_patches
from tests.support.real_cluster import own, wait_until
from workloads.clients.library import library
from workloads.clients.protocol import Polled
from workloads.compacted import Compacted
from workloads.keys import Keyed

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}
LIBRARIES = ["kafka-python", "confluent-kafka"]


def test_each_library_reads_what_each_library_writes(cluster: DockerCluster) -> None:
    topic = own(f"keys-{secrets.token_hex(4)}")
    topics.create(cluster.brokers, topic, partitions=1, replication_factor=3)
    wait_until(lambda: cluster.leader(topic, 0) is not None)
    addresses, log = tuple(cluster.brokers.values()), (topic, 0)
    written = [None, Keyed(7), Keyed(-1), Keyed((1 << 63) - 1, tombstone=True)]
    with attempt_patches():
        for name in LIBRARIES:
            producer = library(name).producer(
                bootstrap=addresses, topics=(topic,), acks="all", idempotence=True, settings={}
            )
            for op, keyed in enumerate(written):
                producer.send(op, log, str(op).encode(), keyed)
                wait_until(lambda: producer.take(0.5))  # noqa: B023
            producer.close(1)
    for name in LIBRARIES:
        consumer = library(name).consumer(bootstrap=addresses, start={log: 0})
        polled: list[Polled] = []
        deadline = time.monotonic() + 30
        while len(polled) < 2 * len(written) and time.monotonic() < deadline:
            polled += consumer.poll(0.5)
        consumer.close()
        assert [(int(each.payload or b""), each.keyed) for each in polled] == [*enumerate(written)] * 2


def test_compaction_keeps_the_latest_value_of_each_key(kafkacheck: Callable[[Experiment], Run]) -> None:
    run = kafkacheck(Experiment(workload=Compacted(topic_config=SAFE), duration=6))
    run.assert_valid()
    assert run.verdict.exercised.compacted, run.verdict


# A reader is away for longer than tombstones stay.
AWAY = {"partitions": 1, "readers": 1, "keys": 200, "topic_config": SAFE}
PAUSE = [api.pause_client("role:reader", at=2, lasting=6)]


@pytest.mark.nightly
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_reader_that_is_away_for_too_long_takes_deleted_keys_for_alive(
    kafkacheck: Callable[[Experiment], Run], name: str
) -> None:
    workload = Compacted(delete_retention=0.001, library=name, **AWAY)
    run = kafkacheck(Experiment(workload=workload, faults=PAUSE, cooldown=3, expect="invalid"))
    run.assert_invalid("risen-key")
    assert {finding.anomaly for finding in run.verdict.findings} <= {"risen-key", "expired"}


@pytest.mark.nightly
def test_a_reader_that_was_away_gets_the_tombstones_that_stay(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    kafkacheck(Experiment(workload=Compacted(**AWAY), faults=PAUSE, cooldown=3)).assert_valid()


@pytest.mark.nightly
@pytest.mark.parametrize("values", [{}, {"library": "confluent-kafka"}, {"delete_retention": 0.001}])
def test_faults_of_brokers_and_clients_are_valid(
    kafkacheck: Callable[[Experiment], Run], values: dict[str, object]
) -> None:
    """Replicas are cleaned at different times. With the last one, tombstones go, and no reader is away."""
    faults = [
        api.kill("leader", at=3, lasting=4),
        api.isolate("leader", at=10, lasting=5),
        api.kill_client("role:writer", at=18, lasting=2),
    ]
    workload = Compacted(topic_config=SAFE, **values)  # type: ignore[arg-type]
    kafkacheck(Experiment(workload=workload, faults=faults, cooldown=6)).assert_valid()
