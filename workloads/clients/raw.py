"""One request to exactly one broker, with the protocol classes of kafka-python.

The library's clients choose the broker to ask, retry, and cache. A probe, a readiness proof or a
question to a possibly cut-off leader wants none of that: it wants this broker's own answer, or an
error within the time it gave.
"""

from __future__ import annotations

import socket
import time
from types import TracebackType
from typing import Any

from kafka.protocol.parser import KafkaProtocol

Address = tuple[str, int]


class Connection:
    """A connection to one broker. Every failure is an OSError (TimeoutError when time was up)."""

    def __init__(self, address: Address, *, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._protocol = KafkaProtocol(client_id="kafkacheck-raw")
        self._socket = socket.create_connection(address, timeout=timeout)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: Any) -> Any:
        """Send one request (its version set at construction) and return the decoded response."""
        deadline = time.monotonic() + self._timeout
        self._protocol.send_request(request)
        self._socket.settimeout(self._timeout)
        self._socket.sendall(self._protocol.send_bytes())
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(
                    f"{type(request).__name__} to {self._address}: nothing in {self._timeout} s"
                )
            self._socket.settimeout(left)
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionResetError(
                    f"{self._address} closed the connection on {type(request).__name__}"
                )
            for _, response in self._protocol.receive_bytes(data):
                return response


def ask(address: Address, request: Any, *, timeout: float) -> Any:
    """Ask one broker once, on a connection of its own. Raises OSError, at most `timeout` seconds twice over."""
    with Connection(address, timeout=timeout) as connection:
        return connection.ask(request)
