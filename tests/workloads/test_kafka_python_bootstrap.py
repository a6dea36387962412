"""kafka-python spends all of its time for the bootstrap on one server that hangs: clients try again with another."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from tests.support.attempt_patches import attempt_patches
from tests.support.mock_cluster import MockCluster, mock_cluster
from tests.support.older_requests import begin_with_older_requests
from tests.support.repetitions import repetitions
from tests.support.worker_context import worker_context
from workloads.clients.connection import Address
from workloads.clients.kafka_python.settings import COMMON
from workloads.clients.library import library
from workloads.roles.sending import Sending

LIMIT = 60.0
BOOTSTRAP = 0.3
"""Seconds for one attempt; in workers as in COMMON."""

CLIENT = {"bootstrap_timeout_ms": round(BOOTSTRAP * 1000)}


@pytest.fixture
def hung() -> Iterator[Address]:
    """A server like a paused broker: the kernel accepts connections, and nobody answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield Address("127.0.0.1", server.getsockname()[1])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockCluster]:
    """The library negotiates with it, and so connects in its constructor as with a real broker."""
    begin_with_older_requests(monkeypatch)
    with attempt_patches(), mock_cluster(brokers=1) as cluster:
        cluster.create("t", copies=1)
        yield cluster


@pytest.mark.usefixtures("cluster")
def test_an_attempt_with_a_server_that_hangs_ends(hung: Address) -> None:
    begun = time.monotonic()
    with pytest.raises(OSError, match="KafkaProducer could not connect"):
        library("kafka-python").producer(
            bootstrap=[hung], topics=("t",), acks="all", idempotence=False, settings=CLIENT
        )
    assert time.monotonic() - begun < LIMIT
    assert COMMON["bootstrap_timeout_ms"] < COMMON["request_timeout_ms"]


def test_a_sender_connects_although_most_servers_hang(
    cluster: MockCluster, hung: Address, tmp_path: Path
) -> None:
    addresses = [hung, *cluster.bootstrap]
    options = {"acks": "all", "idempotence": False, "record_size": 0, "client": CLIENT}
    context = worker_context(tmp_path, "producer", options, topics={"t": 1}, brokers=addresses)
    give_up = Timer(LIMIT, context.stop.set)
    give_up.start()
    for _ in range(repetitions(5, shorter=2)):
        sending = Sending(context, context.records())
        assert sending.connect()
        sending.send([("t", 0)])
        deadline = time.monotonic() + LIMIT
        while sending.in_flight and time.monotonic() < deadline:
            sending.collect(0.1)
        assert context.counts["acks"], dict(context.counts)
        context.counts.clear()
        sending.finish(1)
    give_up.cancel()
    context.close()
