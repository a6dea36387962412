"""The highest leader epoch that a client has seen, for each log: from its library's metadata, or from all brokers.

A session must not ask a leader of an older epoch than that of its acknowledged write: such a leader may be isolated,
and reports an outdated end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kafka import TopicPartition

from workloads.clients import requests
from workloads.clients.connection import Address, Connection
from workloads.clients.protocol import Log

TIMEOUT = 0.5
"""Seconds for the answer of one broker."""

SILENCE = 1.0
"""Seconds for which a broker that did not answer is not asked: the others would have to wait for it each time."""


class Epochs:
    """Follows the metadata of a client of kafka-python. Dictionary updates only, so safe from any thread.

    The library keeps the metadata of the broker that answered last. An isolated broker answers with outdated
    metadata, so the epochs in the library may decrease. Those here do not.
    """

    def __init__(self, cluster: Any, topics: tuple[str, ...]) -> None:
        self._cluster = cluster
        self._topics = topics
        self._highest: dict[Log, int] = {}
        cluster.add_listener(self._updated)

    def saw(self, log: Log, epoch: int | None) -> None:
        if epoch is not None and epoch > self._highest.get(log, -1):
            self._highest[log] = epoch

    def highest(self, log: Log) -> int:
        # Hints in produce and fetch responses change the metadata without calling listeners.
        self.saw(log, self._cluster.leader_epoch_for_partition(TopicPartition(*log)))
        return self._highest.get(log, -1)

    def _updated(self, cluster: Any) -> None:
        for topic in self._topics:
            for partition in cluster.partitions_for_topic(topic) or ():
                log = (topic, partition)
                self.saw(log, cluster.leader_epoch_for_partition(TopicPartition(*log)))


class AskedEpochs:
    """The highest epoch that any broker has reported. For one thread.

    librdkafka's acknowledgements and metadata have no leader epoch in Python. So all brokers are asked, of which the
    one that acknowledged knows the epoch.
    """

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
