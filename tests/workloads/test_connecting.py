"""What kafka-python leaves open when it connects is closed. The handshakes' limit: see test_security.py."""

from __future__ import annotations

import gc
import os
import socket
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaTimeoutError
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from workloads.clients.connection import Address
from workloads.clients.kafka_python import access


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[socket.socket]:
    """The sockets that kafka-python makes."""
    sockets: list[socket.socket] = []
    make = KafkaNetSocket.socket

    def recorded(*arguments: Any) -> socket.socket:
        sockets.append(make(*arguments))
        return sockets[-1]

    monkeypatch.setattr(KafkaNetSocket, "socket", recorded)
    return sockets


def closed(sockets: Sequence[socket.socket]) -> bool:
    return [each.fileno() for each in sockets] == [-1] * len(sockets)


def test_a_socket_that_cannot_be_connected_is_closed_at_once(made: list[socket.socket]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = Address("127.0.0.1", server.getsockname()[1])
    net = NetworkSelector()
    manager = KafkaConnectionManager(net, **access([silent]))
    try:
        with pytest.raises(KafkaTimeoutError):
            manager.bootstrap(timeout_ms=300)
        assert made
        assert closed(made)
    finally:
        manager.close()
        net.close()


def test_a_connection_that_is_made_while_the_client_closes_is_closed(made: list[socket.socket]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        net = NetworkSelector()
        manager = KafkaConnectionManager(net, **access([Address("127.0.0.1", server.getsockname()[1])]))
        (broker,) = manager.cluster.bootstrap_brokers()
        connection = manager.get_connection(broker.node_id)
        for _ in range(500):
            net.poll(timeout_ms=20)
            if connection.transport is not None:
                break
        # What close() does in its own thread when it saw no transport and one is made before its next step.
        connection.connection_lost(None)
        manager.close()
        assert not closed(made)
        net.close()
        assert len(made) == 1
        assert closed(made)


@pytest.mark.parametrize("make", [KafkaConsumer, KafkaProducer, KafkaAdminClient])
def test_a_client_that_cannot_connect_leaves_neither_threads_nor_files(make: Any) -> None:
    """A server like a paused broker: the kernel accepts connections, and nobody answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=20) as server:
        settings = access([Address("127.0.0.1", server.getsockname()[1])])
        gc.collect()
        threads, files = open_now()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                with pytest.raises(KafkaTimeoutError):
                    make(**settings, bootstrap_timeout_ms=100)
            gc.collect()
        # Others may have ended: an earlier test's client does so in threads of its own.
        left = open_now()
        assert (left[0] - threads, left[1] - files) == (set(), set())


def open_now() -> tuple[set[threading.Thread], set[str]]:
    """The threads and the files of this process."""
    return {*threading.enumerate()}, {*os.listdir("/proc/self/fd")}
