"""A client of kafka-python that has lost all brokers that it knows, while a bootstrap may find others.

The library never bootstraps again (KIP-899): if its metadata names one broker only, because the others were down, and
then that one fails and the others return, the client waits for that one for ever.
"""

from __future__ import annotations

import time
from typing import Any

LIMIT = 5.0
"""Seconds without a connection after which a client counts as stranded. To connect again takes a second at most."""


class Connectivity:
    """Follows one client of the library through its connection manager."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._connected = time.monotonic()

    def is_stranded(self) -> bool:
        """Whether it has had no connection for `LIMIT` seconds, and a new client would ask brokers that it does not
        know. Call it often."""
        if any(connection.connected for connection in list(self._manager._conns.values())):
            self._connected = time.monotonic()
            return False
        if time.monotonic() - self._connected < LIMIT:
            return False
        cluster = self._manager.cluster
        known = {(broker.host, broker.port) for broker in cluster.brokers()}
        return any((broker.host, broker.port) not in known for broker in cluster.bootstrap_brokers())
