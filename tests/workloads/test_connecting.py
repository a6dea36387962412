"""What kafka-python leaves open when it connects is closed. The handshakes' limit: see test_security.py."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from workloads.clients.connection import Address
from workloads.clients.kafka_python import access


def test_a_socket_that_cannot_be_connected_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []
    make = KafkaNetSocket.socket

    def recorded(*arguments: Any) -> socket.socket:
        made.append(make(*arguments))
        return made[-1]

    monkeypatch.setattr(KafkaNetSocket, "socket", recorded)
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = Address("127.0.0.1", server.getsockname()[1])
    net = NetworkSelector()
    manager = KafkaConnectionManager(net, **access([silent]))
    try:
        with pytest.raises(KafkaTimeoutError):
            manager.bootstrap(timeout_ms=300)
        assert made
        assert [each.fileno() for each in made] == [-1] * len(made)
    finally:
        manager.close()
        net.close()
