"""A gate between this process and all brokers: while it is closed, nothing passes either way.

A client process runs in the network of its host, where we must not install packet filters. So the client library
waits before each read and write of a socket instead (`workloads.clients.patches.gating` for kafka-python).
Connections stay open, requests run into their timeouts, and what waits on both sides arrives when the gate opens.
Brokers cannot tell it from a network partition.
"""

from __future__ import annotations

import threading


class Gate:
    """The gate of one process. `tried` counts the operations that found it closed since it was closed."""

    def __init__(self) -> None:
        self._closed = threading.Event()
        self.tried = 0

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        self.tried = 0
        self._closed.set()

    def open(self) -> None:
        self._closed.clear()


GATE = Gate()
"""A process has one, because a client identity is isolated as a whole."""
