"""Defects of kafka-python 3.0.12 on connecting: TLS handshakes without a limit, and what is not closed.

The kernel of a paused broker still accepts connections, and the broker does not answer. In plain text the library's
first request times out. With TLS it waits for the handshake for ever, even in a constructor with a limit. And it
leaves a socket that could not be connected to the garbage collector: a client that retries a dead broker holds some
dozens of them. A client that is closed while its other thread completes a connection may forget that connection with
its socket open. Python warns of such a socket later, in whichever test runs then. A constructor that could not
connect leaves its event loop open: three files, and for a consumer or an admin client a thread that never ends.
"""

from __future__ import annotations

import time
from typing import Any

from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

LIMIT = 2.0
"""Seconds for one handshake: below `bootstrap_timeout_ms`, so that another broker can still be tried."""

INSTALLED = "_kafkacheck_mended"

TRANSPORTS = "_kafkacheck_transports"
"""Attribute kept on an event loop: its transports that are not closed yet."""


def install() -> None:
    """Patch kafka-python in this process. May be called again.

    Raises AttributeError when the library has changed too much.
    """
    if getattr(KafkaSSLTransport, INSTALLED, False):
        return
    handshake, connect = KafkaSSLTransport.handshake, KafkaNetSocket.sock_connect
    make, close, close_loop = KafkaTCPTransport.__init__, KafkaTCPTransport._close, NetworkSelector.close
    bootstrap = KafkaConnectionManager.bootstrap

    def registering(self: Any, net: Any, *arguments: Any, **options: Any) -> None:
        make(self, net, *arguments, **options)
        _transports(net).add(self)

    def unregistering(self: Any, *arguments: Any) -> None:
        _transports(self._net).discard(self)
        close(self, *arguments)

    def closing_all(self: Any) -> None:
        # The library ends the loop's thread first, so nothing uses these transports any more.
        close_loop(self)
        for transport in _transports(self).copy():
            if transport._sock is not None:
                transport._sock.close()

    async def limited(self: Any) -> None:
        net = self._net
        self._net = _Limited(net, time.monotonic() + LIMIT)
        try:
            await handshake(self)
        except BaseException:
            # No other object uses this transport yet, so it has to be closed here.
            self._net = net
            self._close()
            raise
        finally:
            self._net = net

    async def closing(self: Any, net: Any, sock: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return await connect(self, net, sock, *arguments, **options)
        except BaseException:
            sock.close()
            raise

    def closing_unless_connected(self: Any, *arguments: Any, **options: Any) -> None:
        try:
            bootstrap(self, *arguments, **options)
        except BaseException:
            # Only constructors call this, and their caller gets no object that it could close.
            self.close()
            self._net.close()
            raise

    KafkaConnectionManager.bootstrap = closing_unless_connected
    KafkaSSLTransport.handshake = limited
    KafkaNetSocket.sock_connect = closing
    KafkaTCPTransport.__init__, KafkaTCPTransport._close = registering, unregistering
    NetworkSelector.close = closing_all
    setattr(KafkaSSLTransport, INSTALLED, True)


def _transports(net: Any) -> set[Any]:
    transports: set[Any] = net.__dict__.setdefault(TRANSPORTS, set())
    return transports


class _Limited:
    """The library's event loop with a deadline for waiting on sockets."""

    def __init__(self, net: Any, deadline: float) -> None:
        self._net, self._deadline = net, deadline

    def wait_read(self, socket: Any) -> Any:
        return self._net.wait_read(socket, self._deadline)

    def wait_write(self, socket: Any) -> Any:
        return self._net.wait_write(socket, self._deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._net, name)
