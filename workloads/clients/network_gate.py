"""A gate between this process and all brokers: while it is closed, nothing passes either way.

A client process runs in the network of its host, where we must not install packet filters. So the client library
waits before each read and write of a socket instead (`workloads.clients.kafka_python.settings` for kafka-python,
`workloads.clients.connection` for single requests).
Connections stay open, requests run into their timeouts, and what waits on both sides arrives when the gate opens.
Brokers cannot tell it from a network partition.
"""

from __future__ import annotations

import threading

GATED_LIBRARIES = frozenset({"kafka-python"})
"""Client libraries that wait at the gate. librdkafka does not: it opens its sockets in C, and its Python binding
offers neither of its callbacks for sockets and connections."""


class Gate:
    """The gate of one process. `tried` counts the operations that found it closed since it was closed."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._opened.set()
        self.tried = 0

    @property
    def is_closed(self) -> bool:
        return not self._opened.is_set()

    def close(self) -> None:
        self.tried = 0
        self._opened.clear()

    def open(self) -> None:
        self._opened.set()

    def wait_open(self, limit: float) -> bool:
        """Whether the gate is open, or opens within `limit` seconds. Counts as a try where it is closed."""
        if self.is_closed:
            self.tried += 1
        return self._opened.wait(limit)


GATE = Gate()
"""A process has one, because a client identity is isolated as a whole."""
