"""Reads of ZooKeeper that are repeated many times a second, while some of its servers may be silent."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from workloads.clients.connection import Ensemble

TIMEOUT = 3.0
"""Seconds without an answer after which the session tries another server."""

RETRY = {"max_tries": -1, "delay": 0.1, "backoff": 1, "max_delay": 0.5}
"""The session is opened again at once after servers were silent: the usual waits grow to an hour."""

PATHS = ("/controller_epoch", "/controller", "/controller_epoch")
"""The epoch is read before and after the controller: if it was written meanwhile, they do not belong together."""


logging.getLogger("kazoo").addHandler(logging.NullHandler())


class Znode(NamedTuple):
    """zxid  of the transaction that wrote the data last."""

    data: bytes
    zxid: int


Read = Callable[[Sequence[str]], Sequence[Znode | None]]
"""Reads paths in this order; None for one that does not exist. Raises OSError."""


class Controller(NamedTuple):
    """node   id of the controller; -1 for none.
    epoch  the number of elections.
    """

    node: int
    epoch: int


def controller(read: Read) -> Controller | None:
    """The controller and the epoch of one moment; None where an election came between, or none has ever been held.

    No read covers two paths: releases before ZooKeeper 3.6 have none. The same zxid of the epoch before and after
    shows that no election came between. A broker that is elected writes both in one transaction.
    """
    before, elected, after = read(PATHS)
    if before is None or after is None or before.zxid != after.zxid:
        return None
    return Controller(-1 if elected is None else int(json.loads(elected.data)["brokerid"]), int(after.data))


class ZooKeeperSession:
    """One session, opened by the first read and kept until `close`. For one thread.

    connection  the number of the session that answered last, counted from 0; None after an error.
    patience    seconds that one read takes at most.

    Each read follows a ``sync``, so that a server which lags behind does not answer with what it knows. ZooKeeper
    orders the reads of one session: none returns an older state than one before it, whichever server answers. It
    does not order those of two sessions: a leader that was just replaced may still confirm a ``sync``.
    """

    def __init__(self, ensemble: Callable[[], Ensemble], *, patience: float) -> None:
        self.connection: int | None = None
        self._ensemble = ensemble
        self._hosts = ""
        self._patience = patience
        self._client: KazooClient | None = None
        self._asked: list[Any] = []
        self._sessions: list[int] = []

    def ask(self, paths: Sequence[str]) -> Sequence[Znode | None]:
        """What is at these paths, see `Read`. Servers that are silent delay one read by `patience`: they are not
        asked again until they answer, and that answer counts for nothing."""
        try:
            return self._read(paths)
        except OSError:
            self.connection = None
            raise

    def close(self) -> None:
        """Returns at once: silent servers would delay the end of the session by seconds."""
        if self._client is not None:
            threading.Thread(target=_end, args=(self._client,), name="zookeeper-close", daemon=True).start()
            self._client = None

    def _read(self, paths: Sequence[str]) -> Sequence[Znode | None]:
        client = self._opened()
        if not client.connected:
            self._asked = []  # the session ends its requests
            raise ConnectionError(f"no server of ZooKeeper at {self._hosts} answers")
        if all(answer.ready() for answer in self._asked):
            self._asked = [client.sync_async(paths[0]), *(client.get_async(path) for path in paths)]
            self._asked[-1].wait(self._patience)
        if not all(answer.ready() for answer in self._asked):
            raise TimeoutError(f"ZooKeeper at {self._hosts}: no answer within {self._patience:g} s")
        synced, *answers = self._asked
        self._asked = []
        try:
            synced.get(timeout=0)
            found = [_znode(answer) for answer in answers]
        except (KazooException, KazooTimeoutError) as error:
            raise ConnectionError(f"ZooKeeper at {self._hosts} does not answer: {error!r}") from error
        self.connection = self._number(client)
        return found

    def _opened(self) -> KazooClient:
        if self._client is None:
            self._hosts = self._ensemble().hosts
            self._client = KazooClient(hosts=self._hosts, timeout=TIMEOUT, connection_retry=RETRY)
            self._client.start_async().wait(self._patience)
        return self._client

    def _number(self, client: KazooClient) -> int | None:
        """None where the session has just ended."""
        if client.client_id is None:
            return None
        session = client.client_id[0]
        if session not in self._sessions:
            self._sessions.append(session)
        return self._sessions.index(session)


def _znode(answer: Any) -> Znode | None:
    try:
        data, stat = answer.get(timeout=0)
    except NoNodeError:
        return None
    return Znode(data, stat.mzxid)


def _end(client: KazooClient) -> None:
    client.stop()
    client.close()
