"""A gate between this process and all brokers: closed, nothing passes either way, and nobody is told.

A client process lives in its host's network, where a packet filter of ours has no business. So it is the client
library that stands still before the socket: connections stay open, time goes on, requests run into their limits,
and what waits on both sides arrives when the gate opens. To the brokers it looks like a cut.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from kafka.errors import KafkaTimeoutError
from kafka.net.selector import NetworkSelector

INTERVAL = 0.02
"""Seconds between two looks at a closed gate."""

INSTALLED = "_kafkacheck_gated"


class Gate:
    """Of one process. `tried` counts what wanted to pass since it was closed."""

    def __init__(self) -> None:
        self._closed = threading.Event()
        self.tried = 0

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        self.tried = 0
        self._closed.set()

    def open(self) -> None:
        self._closed.clear()

    def install(self) -> None:
        """Put it into kafka-python's event loop. May be called again.

        Raises AttributeError when the library has changed too much.
        """
        if getattr(NetworkSelector, INSTALLED, False):
            return
        for name in ("wait_read", "wait_write"):
            self._guard(name)
        setattr(NetworkSelector, INSTALLED, True)

    def _guard(self, name: str) -> None:
        wait = getattr(NetworkSelector, name)

        async def guarded(net: Any, fileobj: Any, timeout_at: float | None = None) -> Any:
            ready = await wait(net, fileobj, timeout_at)
            if self.closed:
                self.tried += 1
            while self.closed:
                if timeout_at is not None and time.monotonic() > timeout_at:
                    raise KafkaTimeoutError("the gate to the brokers is closed")
                await net.sleep(INTERVAL)
            return ready

        setattr(NetworkSelector, name, guarded)


GATE = Gate()
"""A process has one: a client identity is cut off as a whole."""
