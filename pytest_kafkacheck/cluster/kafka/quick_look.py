"""Looks at a cluster that are repeated many times a second, while some brokers may be silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.metadata_views import asking
from workloads.clients.connection import Address
from workloads.clients.requests import Ask, Leadership

PATIENCE = 0.2
"""Seconds that one look takes at most. A broker that needs longer is left out of it."""

Answer = TypeVar("Answer")


class QuickLook:
    """Implements ``nemesis.cluster.View``, with the answers of the brokers that answer at once.

    A broker that has not answered the last look is not asked again until it does, or until its request has failed.
    For one thread.

    brokers     where clients reach each broker, at this moment.
    controller  the active controller; None where the brokers know it, as in KRaft mode.
    """

    def __init__(
        self,
        brokers: Callable[[], Mapping[int, Address]],
        controller: Callable[[], int | None] | None = None,
    ) -> None:
        self._brokers = brokers
        self._controller = controller
        self._asked: dict[int, Future[Any]] = {}

    def leader(self, topic: str, partition: int) -> int | None:
        view = self._newest(topic, partition)
        return view.leader if view and view.leader >= 0 else None

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.replicas if view else ()

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.isr if view else ()

    def controller(self) -> int | None:
        if self._controller is not None:
            return self._controller()
        quorum = metadata_views.quorum(self._brokers(), ask_each=self.ask_each)
        return quorum.leader if quorum else None

    def _newest(self, topic: str, partition: int) -> Leadership | None:
        views = metadata_views.views(self._brokers(), [topic], ask_each=self.ask_each)
        return metadata_views.newest(views, (topic, partition))

    def ask_each(
        self, addresses: Mapping[int, Address], request: Callable[[Ask], Answer]
    ) -> dict[int, Answer]:
        asked: dict[int, Future[Answer]] = {}
        for node, address in addresses.items():
            if node not in self._asked or self._asked[node].done():
                asked[node] = self._asked[node] = _start(request, address)
        until = time.monotonic() + PATIENCE
        answers: dict[int, Answer] = {}
        for node, future in asked.items():
            try:
                answers[node] = future.result(timeout=max(0.0, until - time.monotonic()))
            except (OSError, TimeoutError):
                continue
        return answers


def _start(request: Callable[[Ask], Answer], address: Address) -> Future[Answer]:
    """In a thread of its own, which ends with the request's time-out."""
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(request(asking(address)))
        except Exception as problem:
            future.set_exception(problem)

    threading.Thread(target=run, name="quick-look", daemon=True).start()
    return future
