"""One request to exactly one broker, with the protocol classes of kafka-python; and where servers listen.

The library's clients choose the broker, retry, and cache. Probes, readiness checks and questions to a leader that may
be isolated need the answer of one broker, or an error within a time limit. Nothing passes while this process is
isolated (`workloads.clients.network_gate`).
"""

from __future__ import annotations

import socket
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import kafka.errors
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from workloads.clients.network_gate import GATE
from workloads.clients.security import Security


def make_classes_of_answers() -> None:
    """Make the class for each version of each answer, before threads ask for them. May be called again.

    kafka-python 3.0.12 makes one when the first answer of that version is read, and registers it weakly. Where two
    threads do so at once, whichever their clients are, it may keep one class and have registered the other: then each
    later answer of that kind is a ReferenceError in the thread of its client, and the request has no answer.
    """
    for message in ApiMessage.__subclasses__():
        if message[None] is message and not message.is_request():  # the others are such classes themselves
            for version in range(message.min_version, message.max_version + 1):
                message[version]


make_classes_of_answers()


class Address(NamedTuple):
    """Where a broker listens, and how clients connect; `security` None is plain text."""

    host: str
    port: int
    security: Security | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def to_json(self) -> list[Any]:
        """``[host, port]``, with the security as a third element where there is one, secrets included."""
        return [self.host, self.port, *([self.security.to_json()] if self.security else [])]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Address:
        host, port, *rest = data
        return cls(host, port, Security.from_json(rest[0]) if rest and rest[0] is not None else None)


def common_security(addresses: Collection[Address]) -> Security | None:
    """Of all of them: a client of a library connects to all brokers in the same way. Raises ValueError when they
    differ."""
    securities = {address.security for address in addresses}
    if len(securities) > 1:
        raise ValueError(f"brokers {', '.join(map(str, addresses))}: expected the same security for all")
    return next(iter(securities), None)


class Connection:
    """A connection to one broker. Every failure is an OSError, a TimeoutError when the time is over.

    timeout  seconds to connect, authentication included, and seconds for each answer.
    The constructor raises ssl.SSLError when the broker's certificate is not trusted, and PermissionError with the
    broker's message when it rejects this user.
    """

    def __init__(self, address: Address, *, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._protocol = KafkaProtocol(client_id="kafkacheck-raw")
        deadline = time.monotonic() + timeout
        self._pass_gate(deadline, "a connection")
        self._socket = socket.create_connection(address[:2], timeout=self._left(deadline, "a connection"))
        try:
            self._secure(deadline)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: Any) -> Any:
        """Send one request (its version set at construction) and return the decoded response."""
        return self._ask(request, time.monotonic() + self._timeout)

    def _secure(self, deadline: float) -> None:
        security = self._address.security
        if security is None:
            return
        if security.tls:
            self._socket.settimeout(self._left(deadline, "the TLS handshake"))
            self._socket = security.context().wrap_socket(self._socket, server_hostname=self._address.host)
        if security.sasl:
            self._authenticate(security, deadline)

    def _authenticate(self, security: Security, deadline: float) -> None:
        answer = self._ask(SaslHandshakeRequest(version=1, mechanism=security.mechanism), deadline)
        if answer.error_code:
            raise PermissionError(
                f"{self._address} does not support {security.mechanism}; it supports {', '.join(answer.mechanisms)}"
            )
        mechanism = get_sasl_mechanism(security.mechanism)(
            sasl_mechanism=security.mechanism,
            sasl_plain_username=security.username,
            sasl_plain_password=security.password,
        )
        while not mechanism.is_done():
            request = SaslAuthenticateRequest(version=1, auth_bytes=mechanism.auth_bytes())
            answer = self._ask(request, deadline)
            if answer.error_code:
                raise PermissionError(
                    f"{self._address} rejects {security.username!r} over {security}: "
                    f"{answer.error_message or kafka.errors.for_code(answer.error_code).__name__}"
                )
            try:
                mechanism.receive(answer.auth_bytes)
            except (ValueError, KeyError) as error:
                # The other side does not know the password, so it is not the broker.
                raise PermissionError(
                    f"{self._address} did not prove its identity over {security}: {error!r}"
                ) from error

    def _ask(self, request: Any, deadline: float) -> Any:
        what = type(request).__name__
        self._protocol.send_request(request)
        self._pass_gate(deadline, what)
        self._socket.settimeout(self._left(deadline, what))
        self._socket.sendall(self._protocol.send_bytes())
        while True:
            self._socket.settimeout(self._left(deadline, what))
            data = self._socket.recv(1 << 16)
            self._pass_gate(deadline, what)  # what came while the gate was closed arrives when it opens
            if not data:
                raise ConnectionResetError(f"{self._address} closed the connection on {what}")
            try:
                for _, response in self._protocol.receive_bytes(data):
                    return response
            except kafka.errors.KafkaError as error:
                raise ConnectionError(
                    f"{self._address} does not speak Kafka's protocol in plain text: its answer to {what} starts "
                    f"with {data[:8]!r} ({error})"
                ) from error

    def _pass_gate(self, deadline: float, what: str) -> None:
        if not GATE.wait_open(self._left(deadline, what)):
            raise TimeoutError(f"{what} to {self._address}: no answer within {self._timeout} s")

    def _left(self, deadline: float, what: str) -> float:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{what} to {self._address}: no answer within {self._timeout} s")
        return left


def ask(address: Address, request: Any, *, timeout: float) -> Any:
    """Ask one broker once, over a new connection. Raises OSError; takes at most twice `timeout` seconds."""
    with Connection(address, timeout=timeout) as connection:
        return connection.ask(request)


@dataclass(frozen=True)
class Ensemble:
    """servers  where this host reaches them; none in KRaft mode.
    root     the path below which the brokers keep their data, such as "/kafka"; "" for none.
    """

    servers: tuple[Address, ...] = ()
    root: str = ""

    @property
    def hosts(self) -> str:
        """As the client library expects it: ``host:port,host:port/kafka``."""
        return ",".join(f"{server[0]}:{server[1]}" for server in self.servers) + self.root

    def to_json(self) -> dict[str, Any]:
        return {"servers": [server.to_json() for server in self.servers], "root": self.root}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ensemble:
        return cls(tuple(Address.from_json(server) for server in data["servers"]), data["root"])
