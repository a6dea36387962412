"""Single requests of a client process do not bypass its isolation."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from workloads.clients.connection import Address, Connection
from workloads.clients.network_gate import GATE


@pytest.fixture
def broker() -> Iterator[tuple[Address, list[bytes]]]:
    """Listens, notes what arrives, and never answers."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                got.append(b"connected")
                with connection:
                    while data := connection.recv(1000):
                        got.append(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Address(*server.getsockname()), got
        GATE.open()


def test_no_connection_is_opened_while_the_process_is_isolated(broker: tuple[Address, list[bytes]]) -> None:
    address, got = broker
    GATE.close()
    with pytest.raises(TimeoutError, match="no answer within"):
        Connection(address, timeout=0.2)
    assert got == []
    assert GATE.tried == 1


def test_no_request_is_sent_over_an_open_connection(broker: tuple[Address, list[bytes]]) -> None:
    address, got = broker
    with Connection(address, timeout=0.2) as connection:
        GATE.close()
        with pytest.raises(TimeoutError, match="no answer within"):
            connection.ask(ApiVersionsRequest(version=0))
    assert got in ([], [b"connected"])


def test_a_request_goes_on_when_the_gate_opens_in_time(broker: tuple[Address, list[bytes]]) -> None:
    address, _ = broker
    GATE.close()
    opener = threading.Timer(0.1, GATE.open)
    opener.start()
    begun = time.monotonic()
    Connection(address, timeout=5).close()
    assert time.monotonic() - begun >= 0.1
