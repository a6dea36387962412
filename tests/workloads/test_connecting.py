"""What kafka-python leaves open when it connects is closed. The handshakes' limit: see test_security.py."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from workloads.clients.connection import Address
from workloads.clients.kafka_python import access

ROOT = Path(__file__).resolve().parents[2]


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


PROGRAM = """
import gc, os, socket, sys, threading
import kafka
from kafka.errors import KafkaTimeoutError
from workloads.clients.connection import Address
from workloads.clients.kafka_python import access

def open_now():
    return {*threading.enumerate()}, {*os.listdir("/proc/self/fd")}

make = getattr(kafka, sys.argv[1])
with socket.create_server(("127.0.0.1", 0), backlog=20) as server:
    settings = access([Address("127.0.0.1", server.getsockname()[1])])
    gc.collect()
    threads, files = open_now()
    for _ in range(3):
        try:
            make(**settings, bootstrap_timeout_ms=100)
        except KafkaTimeoutError:
            continue
        sys.exit("it connected")
    gc.collect()
    left = open_now()
    print([len(left[0] - threads), len(left[1] - files)])
"""
"""In a process of its own: clients of other tests that go on, such as those of librdkafka, open files at any time."""


@pytest.mark.parametrize("make", ["KafkaConsumer", "KafkaProducer", "KafkaAdminClient"])
def test_a_client_that_cannot_connect_leaves_neither_threads_nor_files(make: str) -> None:
    """A server like a paused broker: the kernel accepts connections, and nobody answers."""
    ended = subprocess.run(
        [sys.executable, "-W", "default::ResourceWarning", "-c", PROGRAM, make],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (ended.stdout, ended.returncode) == ("[0, 0]\n", 0), ended.stderr
    assert "ResourceWarning" not in ended.stderr
