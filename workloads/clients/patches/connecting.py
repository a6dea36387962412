"""What kafka-python 3.0.12 leaves open when it connects: a limit for TLS handshakes, and sockets that fail.

A paused broker's kernel goes on taking connections, in which nobody then answers. In plain text the
library's first request times out; with TLS it waits for ever before that, even in a constructor that was
given a limit. And a socket that could not be connected is left to the garbage collector, which comes when
it likes: a client that tries a dead broker over and over holds some dozens of them.
"""

from __future__ import annotations

import time
from typing import Any

from kafka.net.inet import KafkaNetSocket
from kafka.net.transport import KafkaSSLTransport

LIMIT = 2.0
"""Seconds for one handshake: below `bootstrap_timeout_ms`, so that another broker can still be tried."""

INSTALLED = "_kafkacheck_mended"


def install() -> None:
    """Patch kafka-python in this process. May be called again.

    Raises AttributeError when the library has changed too much.
    """
    if getattr(KafkaSSLTransport, INSTALLED, False):
        return
    handshake, connect = KafkaSSLTransport.handshake, KafkaNetSocket.sock_connect

    async def limited(self: Any) -> None:
        net = self._net
        self._net = _Limited(net, time.monotonic() + LIMIT)
        try:
            await handshake(self)
        except BaseException:
            # Nobody knows this transport yet, so nobody would close it.
            self._sock.close()
            raise
        finally:
            self._net = net

    async def closing(self: Any, net: Any, sock: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return await connect(self, net, sock, *arguments, **options)
        except BaseException:
            sock.close()
            raise

    KafkaSSLTransport.handshake = limited
    KafkaNetSocket.sock_connect = closing
    setattr(KafkaSSLTransport, INSTALLED, True)


class _Limited:
    """The library's event loop, in which waiting for a socket ends at a point in time."""

    def __init__(self, net: Any, deadline: float) -> None:
        self._net, self._deadline = net, deadline

    def wait_read(self, socket: Any) -> Any:
        return self._net.wait_read(socket, self._deadline)

    def wait_write(self, socket: Any) -> Any:
        return self._net.wait_write(socket, self._deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._net, name)
