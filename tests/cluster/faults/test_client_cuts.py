"""One client process is cut from one broker by the kernel, on a real cluster; all others go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition

from pytest_kafkacheck import isolate_client
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.experiment.clients import WorkerClients
from tests.support.fault_run import LONG, Injection, eventually
from tests.support.java_client import java_library
from tests.support.real_cluster import wait_until
from workloads.append_log import AppendLog
from workloads.applications.confinement import why_not
from workloads.clients.kafka_python import access
from workloads.history.schema import VALUE_BITS
from workloads.payload import decode
from workloads.workers.pool import WorkerPool
from workloads.workload import Topic

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

RUN = "r"

LIBRARIES: dict[str, Callable[[], str]] = {
    "kafka-python": lambda: "kafka-python",
    "confluent-kafka": lambda: "confluent-kafka",
    "java": java_library,
}

SOON: dict[str, dict[str, Any]] = {
    "kafka-python": {"request_timeout_ms": 1000},
    "confluent-kafka": {"socket.timeout.ms": 1000},
    "java": {"request.timeout.ms": 1000},
}
"""Before a producer sends again."""

NIGHTLY = pytest.mark.nightly


@pytest.fixture(autouse=True)
def _this_kernel() -> None:
    if reason := why_not("packets"):
        pytest.skip(f"this host cannot cut packets of single processes: {reason}")


@contextmanager
def producing(
    cluster: DockerCluster, topic: str, home: Path, *, library: str, idempotence: bool
) -> Iterator[tuple[WorkerPool, WorkerClients]]:
    """Two producers, 0 and 1, of one partition."""
    workload = AppendLog(
        partitions=1, producers=2, readers=0, sessions=0, rate=100, idempotence=idempotence,
        library=LIBRARIES[library](), client=SOON[library],
    )  # fmt: skip
    producers = [worker for worker in workload.workers() if not worker.role.observes]
    with WorkerPool(
        producers, run=RUN, home=home, brokers=cluster.brokers, record=lambda _: None, cuts=True,
        topics=[Topic(name=topic, partitions=1, replication_factor=3)],
    ) as workers:  # fmt: skip
        workers.go()
        wait_until(lambda: min(acks(workers, number) for number in (0, 1)) > 50)
        yield workers, WorkerClients(workers, lambda: cluster.brokers)
        workers.stop()
        assert workers.crashed() == ()


def acks(workers: WorkerPool, process: int) -> int:
    return workers.workers[process].counts.get("acks", 0)


def written(cluster: DockerCluster, topic: str) -> Counter[int]:
    """How often each value is in the log."""
    consumer = KafkaConsumer(**access(cluster.brokers.values()), group_id=None, auto_offset_reset="earliest")
    log = TopicPartition(topic, 0)
    found: Counter[int] = Counter()
    try:
        consumer.assign([log])
        (end,) = consumer.end_offsets([log]).values()
        while consumer.position(log) < end:
            for record in consumer.poll(timeout_ms=500).get(log, []):
                value, problem = decode(record.value, RUN, topic, 0)
                assert problem is None
                assert value is not None
                found[value] += 1
    finally:
        consumer.close()
    return found


def repeated(values: Counter[int]) -> set[int]:
    return {value for value, count in values.items() if count > 1}


def of(process: int, values: Counter[int]) -> Counter[int]:
    return Counter({value: count for value, count in values.items() if value >> VALUE_BITS == process})


@pytest.mark.parametrize("idempotence", [False, True], ids=["without idempotence", "with idempotence"])
@pytest.mark.parametrize(
    "library",
    ["kafka-python", pytest.param("confluent-kafka", marks=NIGHTLY), pytest.param("java", marks=NIGHTLY)],
)
def test_a_producer_that_gets_no_answers_of_the_leader_sends_again(
    cluster: DockerCluster, topic: str, tmp_path: Path, library: str, idempotence: bool
) -> None:
    with producing(cluster, topic, tmp_path, library=library, idempotence=idempotence) as (workers, clients):
        event = isolate_client("client:0", brokers="leader", one_way="in", lasting=LONG)
        before = of(0, written(cluster, topic))
        with Injection(cluster, event, topic=topic, clients=clients) as injection:
            assert injection.injected["processes"] == [0]
            evidence = injection.injected["evidence"]
            assert evidence["brokers"] == [cluster.leader(topic, 0)]
            assert evidence["dropped"].keys() == {"in"}
            alone, other = acks(workers, 0), acks(workers, 1)
            assert eventually(lambda: acks(workers, 1) > other + 300), "the other producer goes on"
            # What was on its way when the counters were read may still be counted.
            assert acks(workers, 0) <= alone + 50
            assert of(0, written(cluster, topic)).total() > before.total(), "requests still reach the leader"
        healed = acks(workers, 0)
        assert eventually(lambda: acks(workers, 0) > healed + 50)
    # On a busy machine, answers may have come too late before.
    twice = repeated(of(0, written(cluster, topic))) - repeated(before)
    assert bool(twice) == (not idempotence)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("one_way", ["out", None])
def test_nothing_of_a_producer_reaches_the_leader(
    cluster: DockerCluster, topic: str, tmp_path: Path, library: str, one_way: Any
) -> None:
    with producing(cluster, topic, tmp_path, library=library, idempotence=True) as (workers, clients):
        event = isolate_client("client:0", brokers="leader", one_way=one_way, lasting=LONG)
        with Injection(cluster, event, topic=topic, clients=clients):
            there = of(0, written(cluster, topic)).total()
            other = acks(workers, 1)
            assert eventually(lambda: acks(workers, 1) > other + 300)
            assert of(0, written(cluster, topic)).total() == there
        healed = acks(workers, 0)
        assert eventually(lambda: acks(workers, 0) > healed + 50)
    assert set(written(cluster, topic).values()) == {1}
