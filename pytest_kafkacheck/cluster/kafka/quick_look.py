"""Looks at a cluster that are repeated many times a second, while some brokers may be silent."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.metadata_views import asking
from workloads.clients.connection import Address
from workloads.clients.requests import Ask, Leadership

PATIENCE = 0.2
"""Seconds that one look takes at most. The answer of a broker that needs longer counts in a later look."""

Answer = TypeVar("Answer")


class QuickLook:
    """Implements ``nemesis.cluster.View``, with the answers of the brokers that answer at once.

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
        self._ask_controller = Asker()
        self._ask_topic: defaultdict[str, Asker] = defaultdict(Asker)

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
        quorum = metadata_views.quorum(self._brokers(), ask_each=self._ask_controller)
        return quorum.leader if quorum else None

    def _newest(self, topic: str, partition: int) -> Leadership | None:
        views = metadata_views.views(self._brokers(), [topic], ask_each=self._ask_topic[topic])
        return metadata_views.newest(views, (topic, partition))


class Asker:
    """Implements `metadata_views.AskEach` for one question that is repeated.

    A broker that is silent delays one look only: it is not asked again until it answers or its request has failed.
    """

    def __init__(self) -> None:
        self._asked: dict[int, Future[Any]] = {}

    def __call__(
        self, addresses: Mapping[int, Address], request: Callable[[Ask], Answer]
    ) -> dict[int, Answer]:
        started = {
            node: _start(request, address) for node, address in addresses.items() if node not in self._asked
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
