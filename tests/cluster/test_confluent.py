"""confluent-kafka on real brokers: experiments, transactions and members of groups."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.real_cluster import own, wait_until
from workloads.append_log import AppendLog
from workloads.clients.library import library
from workloads.clients.protocol import Completion, Consumer, Member, Polled, TransactionalProducer

pytestmark = pytest.mark.cluster

LIBRARY = library("confluent-kafka")


def test_a_healthy_cluster_is_valid(kafkacheck: Callable[[Experiment], Run]) -> None:
    """A session reads its own writes in two topics, and a leader of the second one changes meanwhile."""
    workload = AppendLog(
        library="confluent-kafka",
        topics_written=2,
        partitions=2,
        rate=500,
        topic_config={"min.insync.replicas": 2},
    )
    faults = [api.kill("leader:log-1-0", at=1, lasting=2)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=1))
    assert run.verdict.result == "valid", run.verdict
    rows = pq.read_table(
        run.path / "history" / "records", columns=["f", "type", "topic", "partition", "process"]
    )
    acked = Counter(
        (row["topic"].rpartition("-")[0], row["partition"])
        for row in rows.to_pylist()
        if (row["f"], row["type"]) == ("send", "ok")
    )
    assert set(acked) == {("log", 0), ("log", 1), ("log-1", 0), ("log-1", 1)}
    assert min(acked.values()) > 100, acked


@pytest.mark.nightly
def test_writes_that_an_isolated_leader_acknowledged_alone_are_lost(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    workload = AppendLog(
        library="confluent-kafka",
        acks=1,
        partitions=1,
        rate=500,
        topic_config={"min.insync.replicas": 1},
    )
    run = kafkacheck(
        Experiment(workload=workload, faults=[api.isolate("leader", at=1, lasting=8)], cooldown=1)
    )
    assert run.verdict.result == "invalid", run.verdict
    assert "lost-write" in {finding.anomaly for finding in run.verdict.findings}


def poll_until(one: Consumer | Member, condition: Callable[[list[Polled]], bool]) -> list[Polled]:
    polled: list[Polled] = []
    deadline = time.monotonic() + 30
    while not condition(polled):
        assert time.monotonic() < deadline, f"30 s are over; positions are {one.positions}, polled {polled}"
        polled += one.poll(0.1)
    return polled


@pytest.fixture
def topic(cluster: DockerCluster) -> str:
    name = own(f"confluent-{secrets.token_hex(4)}")
    topics.create(cluster.brokers, name, partitions=1, replication_factor=3)
    wait_until(lambda: cluster.leader(name, 0) is not None)
    return name


def transactional(cluster: DockerCluster, topic: str) -> TransactionalProducer:
    return LIBRARY.transactional(
        bootstrap=cluster.brokers.values(),
        topics=(topic,),
        transactional_id=f"id-{topic}",
        timeout=30,
        settings={},
    )


def send(one: TransactionalProducer, op: int, topic: str) -> Completion:
    one.send(op, (topic, 0), str(op).encode())
    taken: list[Completion] = []
    wait_until(lambda: bool(taken.extend(one.take(0.1)) or taken))
    (completion,) = taken
    return completion


def test_a_reader_passes_the_markers_of_transactions_and_a_new_owner_fences(
    cluster: DockerCluster, topic: str
) -> None:
    log = (topic, 0)
    one = transactional(cluster, topic)
    for op, outcome in ((0, "commit"), (1, "abort")):
        one.begin()
        assert send(one, op, topic).outcome.type == "ok"
        assert one.end(outcome, 30).type == "ok"
    reader = LIBRARY.consumer(bootstrap=cluster.brokers.values(), start={log: 0})
    polled = poll_until(reader, lambda _: reader.positions[log] == 4)
    assert [each.payload for each in polled] == [b"0", b"1"]
    reader.close()
    one.begin()
    send(one, 2, topic)
    other = transactional(cluster, topic)
    assert other.producer_id is not None
    assert (other.producer_id, other.epoch) != (one.producer_id, one.epoch)
    assert one.end("commit", 30).type == "info"
    with pytest.raises(OSError, match="can begin no transaction"):
        one.begin()
    one.close(1)
    other.close(1)


@pytest.mark.parametrize(
    "settings",
    [
        *(
            pytest.param({"assignor": each}, marks=pytest.mark.nightly)
            for each in ("range", "cooperative-sticky")
        ),
        {"protocol": "consumer"},
    ],
    ids=lambda settings: "-".join(settings.values()),
)
def test_positions_committed_in_a_transaction_are_where_the_next_member_begins(
    cluster: DockerCluster, topic: str, settings: dict[str, Any]
) -> None:
    log = (topic, 0)
    producer = transactional(cluster, topic)
    producer.begin()
    for op in range(5):
        assert send(producer, op, topic).outcome.type == "ok"
    assert producer.end("commit", 30).type == "ok"

    def member() -> Member:
        return LIBRARY.member(
            bootstrap=cluster.brokers.values(),
            topics=(topic,),
            group=f"group-{topic}",
            settings={"session_timeout": 10, "heartbeat_interval": 1, "committed": True, **settings},
        )

    first = member()
    polled = poll_until(first, lambda _: first.positions.get(log) == 6)
    assert [each.offset for each in polled] == [0, 1, 2, 3, 4]
    assert [(each.event, each.start) for each in first.events()] == [("assigned", 0)]
    assert first.generation is not None
    assert first.commit({log: 1}, 30).type == "ok"
    producer.begin()
    assert producer.add_positions({log: 3}, first.membership, 30).type == "ok"
    assert producer.end("commit", 30).type == "ok"
    first.close()
    producer.close(1)
    second = member()
    polled = poll_until(second, lambda polled: len(polled) == 2)
    assert [each.offset for each in polled] == [3, 4]
    assert second.id
    second.close()


@pytest.mark.nightly
def test_a_reader_goes_on_after_a_topic_with_higher_epochs_was_created_again(
    cluster: DockerCluster, topic: str
) -> None:
    log = (topic, 0)
    leader = cluster.leader(topic, 0)
    assert leader is not None
    cluster.nodes[leader].kill()
    wait_until(lambda: cluster.leader(topic, 0) not in (None, leader))
    cluster.nodes[leader].start()
    wait_until(cluster.healthy)
    writer = LIBRARY.producer(
        bootstrap=cluster.brokers.values(), topics=(topic,), acks="all", idempotence=True, settings={}
    )
    reader = LIBRARY.consumer(bootstrap=cluster.brokers.values(), start={log: 0})
    for op in range(5):
        writer.send(op, log, b"before")
    poll_until(reader, lambda polled: len(polled) == 5)
    # A producer waits only 0.5 s for the answer of a broker.
    wait_until(lambda: writer.leader_epoch(log) == reader.leader_epoch(log) >= 1)
    writer.close(5)
    cluster.kafka.recreate(topic)
    reader.seek(log, 0)
    other = LIBRARY.producer(
        bootstrap=cluster.brokers.values(), topics=(topic,), acks="all", idempotence=True, settings={}
    )
    other.send(9, log, b"after")
    polled = poll_until(reader, lambda polled: len(polled) == 1)
    assert [(each.offset, each.payload) for each in polled] == [(0, b"after")]
    other.close(5)
    reader.close()
