"""Clients of kafka-python whose metadata names only brokers that are gone find others: the library would not.

Two clusters of one broker stand for one cluster whose brokers are up in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.attempt_patches import attempt_patches
from tests.support.mock_cluster import MockCluster, mock_cluster
from tests.support.older_requests import begin_with_older_requests
from tests.support.worker_context import worker_context
from workloads.clients.kafka_python import consumer
from workloads.clients.kafka_python import producer as producers
from workloads.clients.library import library
from workloads.roles.sending import Sending

LOG = ("t", 0)
LIMIT = 60.0


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[MockCluster, MockCluster]]:
    """Only the broker of the first one is up."""
    begin_with_older_requests(monkeypatch)
    with attempt_patches(), mock_cluster(brokers=1) as first, mock_cluster(brokers=1) as second:
        for each in (first, second):
            each.create("t", copies=1)
        second.stop(1)
        yield first, second


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT} s"


def write(cluster: MockCluster, count: int) -> None:
    one = library("kafka-python").producer(
        bootstrap=cluster.bootstrap, topics=("t",), acks="all", idempotence=False, settings={}
    )
    for op in range(count):
        one.send(op, LOG, b"x")
    acknowledged: list[object] = []
    until(lambda: len(acknowledged.extend(one.take(0.2)) or acknowledged) == count)
    one.close(1)


def switch(clusters: tuple[MockCluster, MockCluster]) -> None:
    first, second = clusters
    first.stop(1)
    second.start(1)


def test_a_consumer_goes_on_where_it_was(
    clusters: tuple[MockCluster, MockCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "STRANDED_LIMIT", 1.0)
    first, second = clusters
    addresses = [*first.bootstrap, *second.bootstrap]
    write(first, 3)
    one = library("kafka-python").consumer(bootstrap=addresses, start={LOG: 0})

    def polled_to_the_end() -> bool:
        one.poll(0.2)
        return one.positions[LOG] == 3

    # What is left in the client's buffer would be returned after the switch, although it is not replaced yet.
    until(polled_to_the_end)
    position, assignment = one.positions[LOG], one.assignment
    switch(clusters)
    write(second, position + 1)
    until(lambda: bool(one.poll(0.2)))
    assert one.positions[LOG] > position
    assert one.assignment > assignment
    one.close()


def test_a_producer_is_replaced(
    clusters: tuple[MockCluster, MockCluster], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(producers, "STALL", 3.0)
    first, second = clusters
    context = worker_context(
        tmp_path,
        "producer",
        {"acks": "all", "idempotence": False, "record_size": 0, "client": {}},
        topics={"t": 1},
        brokers=[*first.bootstrap, *second.bootstrap],
    )
    sending = Sending(context, context.records())

    def ended() -> bool:
        sending.collect(0.2)
        return not sending.in_flight

    assert sending.connect()
    sending.send([LOG])
    until(ended)
    assert context.counts["acks"] == 1
    switch(clusters)
    sending.send([LOG])
    until(ended)
    assert (context.counts["acks"], context.counts["producers dropped"]) == (1, 1)
    sending.send([LOG])
    until(ended)
    assert context.counts["acks"] == 2
    sending.finish(1)
    context.close()
