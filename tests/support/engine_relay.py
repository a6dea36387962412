"""Lets containers and other hosts reach the engine of this host over TCP, as an engine of their own network."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

SOCKET = "/var/run/docker.sock"


def bridge_address(engine: Any) -> str:
    """IPv4 address of the default bridge on this host.

    It is read from the interface, because an engine that was never restarted reports no gateway (Docker 20.10).
    """
    name = engine.api.inspect_network("bridge")["Options"]["com.docker.network.bridge.name"]
    (address,) = (each.address for each in psutil.net_if_addrs()[name] if each.family == socket.AF_INET)
    return str(address)


@contextmanager
def relayed(engine: Any, *, port: int = 0) -> Iterator[tuple[str, int]]:
    """The engine at the address of the bridge. port: 0 for any that is free."""
    open_sockets: list[socket.socket] = []

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                backend = socket.socket(socket.AF_UNIX)
                backend.connect(SOCKET)
                open_sockets.extend((client, backend))
                for ends in ((client, backend), (backend, client)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()

    try:
        with socket.create_server((bridge_address(engine), port)) as listening:
            threading.Thread(target=serve, args=(listening,), daemon=True).start()
            host, number = listening.getsockname()
            yield str(host), int(number)
            listening.shutdown(socket.SHUT_RDWR)
    finally:
        for each in open_sockets:
            each.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
