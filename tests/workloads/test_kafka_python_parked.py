"""A partition that was paused before all of its records were polled returns the others after it is resumed."""

from __future__ import annotations

import time

import pytest

from tests.support.attempt_patches import attempt_patches
from tests.support.mock_cluster import MockCluster, mock_cluster
from tests.support.older_requests import begin_with_older_requests
from workloads.clients.kafka_python.consumer import CONSUMER
from workloads.clients.library import library
from workloads.clients.protocol import Consumer, Log

FIRST, SECOND = ("t", 0), ("t", 1)
LIMIT = 20.0


def write(cluster: MockCluster, log: Log, count: int) -> None:
    one = library("kafka-python").producer(
        bootstrap=cluster.bootstrap, topics=("t",), acks="all", idempotence=False, settings={}
    )
    for op in range(count):
        one.send(op, log, b"x")
    acknowledged, deadline = 0, time.monotonic() + LIMIT
    while acknowledged < count:
        assert time.monotonic() < deadline, f"{acknowledged} of {count} acknowledged within {LIMIT} s"
        acknowledged += len(one.take(0.2))
    one.close(1)


def read(consumer: Consumer, log: Log, end: int) -> list[int]:
    """Offsets that are polled until the position is at the end, or the limit is over."""
    consumer.only((log,))
    offsets: list[int] = []
    deadline = time.monotonic() + LIMIT
    while consumer.positions[log] < end and time.monotonic() < deadline:
        offsets += [each.offset for each in consumer.poll(0.2)]
    return offsets


def test_what_was_not_polled_before_a_pause_is_polled_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_older_requests(monkeypatch)
    monkeypatch.setitem(CONSUMER, "max_poll_records", 10)
    with attempt_patches(), mock_cluster(brokers=1) as cluster:
        cluster.create("t", copies=1, partitions=2)
        write(cluster, FIRST, 25)
        write(cluster, SECOND, 5)
        consumer = library("kafka-python").consumer(bootstrap=cluster.bootstrap, start={FIRST: 0, SECOND: 0})
        first = read(consumer, FIRST, 10)
        assert 10 <= len(first) < 25, "all records came in one poll, so that none is left behind by the pause"
        assert read(consumer, SECOND, 5) == [0, 1, 2, 3, 4]
        assert first + read(consumer, FIRST, 25) == list(range(25))
        consumer.close()
