"""One question that is repeated many times a second, to brokers of which some may be silent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, TypeVar

from pytest_kafkacheck.cluster.kafka.metadata_views import TIMEOUT
from pytest_kafkacheck.cluster.kafka.standing_connection import StandingConnection
from workloads.clients.connection import Address
from workloads.clients.requests import Ask

PATIENCE = 0.2
"""Seconds that one look takes at most. The answer of a broker that needs longer counts in a later look."""

Answer = TypeVar("Answer")


class Asker:
    """Implements `metadata_views.AskEach`, over connections that stay open until `close`. For one thread.

    A broker that is silent delays one look only: it is not asked again until it answers or its request has failed.
    """

    def __init__(self) -> None:
        self._asked: dict[int, Future[Any]] = {}
        self._connections: dict[int, StandingConnection] = {}

    def __call__(
        self, addresses: Mapping[int, Address], request: Callable[[Ask], Answer]
    ) -> dict[int, Answer]:
        started = {
            node: _start(partial(request, self._connection(node, address).ask))
            for node, address in addresses.items()
            if node not in self._asked
        }
        self._asked |= started
        wait(started.values(), timeout=PATIENCE)
        ended = {node: future for node, future in self._asked.items() if future.done()}
        self._asked = {node: future for node, future in self._asked.items() if node not in ended}
        return {
            node: future.result()
            for node, future in ended.items()
            if node in addresses and not isinstance(future.exception(), OSError)
        }

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _connection(self, node: int, address: Address) -> StandingConnection:
        kept = self._connections.get(node)
        if kept is not None and kept.address == address:
            return kept
        if kept is not None:
            kept.close()
        self._connections[node] = StandingConnection(address, timeout=TIMEOUT)
        return self._connections[node]


def _start(work: Callable[[], Answer]) -> Future[Answer]:
    """In a thread of its own, which ends with the request's time-out."""
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as problem:
            future.set_exception(problem)

    threading.Thread(target=run, name="quick-look", daemon=True).start()
    return future
