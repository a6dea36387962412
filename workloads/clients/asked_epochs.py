"""Leader epochs for a library that tells none of its metadata.

A session must not ask a leader of an older epoch than that of its acknowledged write: such a leader may be isolated,
and reports an outdated end. librdkafka's acknowledgements and metadata have no leader epoch in Python. So all brokers
are asked, of which the one that acknowledged knows the epoch.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from workloads.clients import requests
from workloads.clients.connection import Address, Connection
from workloads.clients.protocol import Log

TIMEOUT = 0.5
"""Seconds for the answer of one broker."""

SILENCE = 1.0
"""Seconds for which a broker that did not answer is not asked: the others would have to wait for it each time."""


class AskedEpochs:
    """The highest epoch that any broker has reported. For one thread."""

    def __init__(self, bootstrap: Iterable[Address], topics: tuple[str, ...]) -> None:
        self._topics = topics
        self._brokers = [_Broker(address) for address in bootstrap]
        self._pool: ThreadPoolExecutor | None = None
        self._known: dict[Log, int] = {}

    def highest(self, log: Log) -> int:
        """As known before; -1 for none."""
        return self._known.get(log, -1)

    def refresh(self) -> bool:
        """Ask every broker that is not silent. Returns whether all of them answered."""
        if self._pool is None:
            # Producers of most roles never ask. Its threads are not joined at exit, so no broker delays it.
            self._pool = ThreadPoolExecutor(len(self._brokers), thread_name_prefix="epochs")
        views = [*self._pool.map(lambda broker: broker.epochs(self._topics), self._brokers)]
        for view in views:
            for log, epoch in (view or {}).items():
                self._known[log] = max(epoch, self.highest(log))
        return None not in views

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        for broker in self._brokers:
            broker.close()


class _Broker:
    """Asked over one connection, and over a new one after an error."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._silent_until = float("-inf")

    def epochs(self, topics: tuple[str, ...]) -> dict[Log, int] | None:
        """None where it does not answer."""
        if time.monotonic() < self._silent_until:
            return None
        try:
            if self._connection is None:
                self._connection = Connection(self._address, timeout=TIMEOUT)
            answer = requests.metadata(self._connection.ask, topics)
        except OSError:
            self.close()
            self._silent_until = time.monotonic() + SILENCE
            return None
        return {log: leadership.leader_epoch for log, leadership in answer.items()}

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
