"""Requests to ZooKeeper: registered brokers, the controller, and whether a server serves."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable
from typing import TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from workloads.clients.connection import Address, Ensemble

TIMEOUT = 3.0
"""Seconds for a connection, and for each request."""

Answer = TypeVar("Answer")

logging.getLogger("kazoo").addHandler(logging.NullHandler())


def registered(ensemble: Ensemble) -> set[int]:
    """Ids of the brokers whose sessions have not expired. Raises OSError when no server answers."""
    return _ask(ensemble, lambda client: {int(name) for name in client.get_children("/brokers/ids")}, set())


def controller(ensemble: Ensemble) -> int | None:
    """Node id of the controller. Raises OSError when no server answers."""
    return _ask(ensemble, lambda client: int(json.loads(client.get("/controller")[0])["brokerid"]), None)


def controller_epoch(ensemble: Ensemble) -> int:
    """Number of controller elections so far; -1 before the first. Raises OSError when no server answers."""
    return _ask(ensemble, lambda client: int(client.get("/controller_epoch")[0]), -1)


def delete_controller(ensemble: Ensemble) -> None:
    """Make the brokers elect a controller again. Raises OSError when no server answers."""
    _ask(ensemble, lambda client: client.delete("/controller"), None, read_only=False)


def mode(server: Address) -> str:
    """``leader``, ``follower`` or ``standalone``. Raises OSError while the server does not serve clients."""
    with socket.create_connection(server[:2], timeout=TIMEOUT) as connection:
        connection.sendall(b"srvr")
        text = b"".join(iter(lambda: connection.recv(4096), b"")).decode(errors="replace")
    for line in text.splitlines():
        if line.startswith("Mode: "):
            return line.removeprefix("Mode: ")
    raise ConnectionError(f"ZooKeeper at {server[0]}:{server[1]} does not serve: {text.strip()!r}")


def _ask(
    ensemble: Ensemble,
    request: Callable[[KazooClient], Answer],
    absent: Answer,
    *,
    read_only: bool = True,
) -> Answer:
    client = KazooClient(hosts=ensemble.hosts, timeout=TIMEOUT, read_only=read_only)
    try:
        client.start(timeout=TIMEOUT)
        return request(client)
    except NoNodeError:
        return absent
    except (KazooException, KazooTimeoutError) as error:
        raise ConnectionError(f"ZooKeeper at {ensemble.hosts} does not answer: {error!r}") from error
    finally:
        client.stop()
        client.close()
