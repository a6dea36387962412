"""The controller in ZooKeeper mode, for looks that are repeated many times a second."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from nemesis.views import Elected
from pytest_kafkacheck.cluster.kafka.asker import PATIENCE
from pytest_kafkacheck.cluster.kafka.zookeeper import TIMEOUT
from workloads.clients.connection import Address

RETRY = {"max_tries": -1, "delay": 0.1, "backoff": 1, "max_delay": 0.5}
"""The session is opened again at once after servers were silent: the usual waits grow to an hour."""

UNKNOWN = Elected(None, -1)

PATHS = ("/controller_epoch", "/controller", "/controller_epoch")
"""The epoch is read before and after the controller: if it changed, they do not belong together."""


class ControllerSession:
    """One session in ZooKeeper, opened by the first look and kept until `close`. For one thread.

    servers  where this host reaches the ZooKeeper nodes.
    Servers that are silent delay one look by `PATIENCE`: they are not asked again until they answer.
    """

    def __init__(self, servers: Callable[[], Iterable[Address]]) -> None:
        self._servers = servers
        self._client: KazooClient | None = None
        self._asked: list[Any] = []

    def elected(self) -> Elected:
        """The epoch counts elections. Unknown where no server answers at once."""
        client = self._opened()
        if not client.connected:
            self._asked = []  # the session ends its requests
            return UNKNOWN
        if not self._asked:
            self._asked = [client.get_async(path) for path in PATHS]
            self._asked[-1].wait(PATIENCE)
        if not all(answer.ready() for answer in self._asked):
            return UNKNOWN
        answers, self._asked = self._asked, []
        try:
            before, controller, after = (answer.get(timeout=0)[0] for answer in answers)
        except NoNodeError:
            return UNKNOWN  # there is no controller
        except (KazooException, KazooTimeoutError):
            return UNKNOWN
        if before != after:
            return UNKNOWN
        return Elected(int(json.loads(controller)["brokerid"]), int(after))

    def close(self) -> None:
        """Returns at once: silent servers would delay the end of the session by seconds."""
        if self._client is not None:
            threading.Thread(target=_end, args=(self._client,), name="zookeeper-close", daemon=True).start()
            self._client = None

    def _opened(self) -> KazooClient:
        if self._client is None:
            hosts = ",".join(f"{server[0]}:{server[1]}" for server in self._servers())
            self._client = KazooClient(hosts=hosts, timeout=TIMEOUT, read_only=True, connection_retry=RETRY)
            self._client.start_async().wait(PATIENCE)
        return self._client


def _end(client: KazooClient) -> None:
    client.stop()
    client.close()
