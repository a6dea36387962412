"""Settings with which kafka-python's clients are made, and how `access` changes the library in this process.

Defects of kafka-python 3.0.12 on connecting are TLS handshakes without a limit, and what is not closed. The kernel of
a paused broker still accepts connections, and the broker does not answer. In plain text the library's first request
times out. With TLS it waits for the handshake for ever, even in a constructor with a limit. And it leaves a socket
that could not be connected to the garbage collector: a client that retries a dead broker holds some dozens of them. A
client that is closed while its other thread completes a connection may forget that connection with its socket open.
Python warns of such a socket later, in whichever test runs then. A constructor that could not connect leaves its
event loop open: three files, and for a consumer or an admin client a thread that never ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from kafka.errors import KafkaTimeoutError
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from workloads.clients.connection import Address, common_security
from workloads.clients.network_gate import GATE

COMMON: dict[str, Any] = {
    # Short, because clients must learn of a new leader while the test lasts; the defaults are minutes.
    "metadata_max_age_ms": 1000,
    "request_timeout_ms": 3000,
    "reconnect_backoff_max_ms": 1000,
    # The bootstrap may spend all of this on one server that hangs, so it is short enough to try again with another.
    "bootstrap_timeout_ms": 2500,
    "metrics_enabled": False,
    "allow_auto_create_topics": False,
}


def access(bootstrap: Iterable[Address]) -> dict[str, Any]:
    """Settings with which KafkaProducer, KafkaConsumer and KafkaAdminClient reach these brokers.

    kafka-python connects to all brokers in the same way: raises ValueError when the addresses differ in security.
    Patches the library in this process.
    """
    addresses = tuple(bootstrap)
    security = common_security(addresses)
    # Everything that makes a client of the library calls this function first.
    mend_connecting()
    wait_at_gate()
    return {
        "bootstrap_servers": [str(address) for address in addresses],
        **(security.kafka_python() if security is not None else {}),
    }


LIMIT = 2.0
"""Seconds for one handshake: below `bootstrap_timeout_ms`, so that another broker can still be tried."""

MENDED = "_kafkacheck_mended"

TRANSPORTS = "_kafkacheck_transports"
"""Attribute kept on an event loop: its transports that are not closed yet."""


def mend_connecting() -> None:
    """Patch kafka-python in this process. May be called again.

    Raises AttributeError when the library has changed too much.
    """
    if getattr(KafkaSSLTransport, MENDED, False):
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
    setattr(KafkaSSLTransport, MENDED, True)


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


INTERVAL = 0.02
"""Seconds between two looks at a closed gate."""

GATED = "_kafkacheck_gated"


def wait_at_gate() -> None:
    """Patch kafka-python's event loop in this process. May be called again.

    Raises AttributeError when the library has changed too much.
    """
    if getattr(NetworkSelector, GATED, False):
        return
    for name in ("wait_read", "wait_write"):
        _guard(name)
    setattr(NetworkSelector, GATED, True)


def _guard(name: str) -> None:
    wait = getattr(NetworkSelector, name)

    async def guarded(net: Any, fileobj: Any, timeout_at: float | None = None) -> Any:
        ready = await wait(net, fileobj, timeout_at)
        if GATE.is_closed:
            GATE.tried += 1
        while GATE.is_closed:
            if timeout_at is not None and time.monotonic() > timeout_at:
                raise KafkaTimeoutError("the gate to the brokers is closed")
            await net.sleep(INTERVAL)
        return ready

    setattr(NetworkSelector, name, guarded)
