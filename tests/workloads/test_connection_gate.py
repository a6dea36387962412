"""Single requests of a client process do not bypass its isolation."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from kafka.protocol.metadata import ApiVersionsRequest

from nemesis.tasks import wait_until
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
    address, got = broker
    GATE.close()
    with ThreadPoolExecutor() as pool:
        connecting = pool.submit(Connection, address, timeout=30)
        assert wait_until(lambda: GATE.tried == 1, limit=10)
        assert not connecting.done()
        assert got == []
        GATE.open()
        connecting.result(10).close()
