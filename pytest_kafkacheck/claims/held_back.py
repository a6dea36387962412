"""A request that reaches its broker late, because packets of its connection are dropped one way.

The rule is at the broker's end, in the network namespace of its node: what arrives from one port of a client is
dropped, and nothing else. Neither end gets an error. The kernel that sent the request keeps it, and repeats it. When
the rule is gone, TCP delivers the request, however the client has gone on meanwhile on other connections.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from kafka.protocol.metadata import ApiVersionsRequest

from nemesis.cluster import Node
from nemesis.effects.network import counted
from nemesis.effects.nft import chain, table
from nemesis.tasks import Task, in_thread
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.spec.member import EXTERNAL, PORTS
from workloads.clients.connection import Connection

GIVES_UP = 1.0
"""Seconds without an answer after which the client gives up."""

LIMIT = 30.0
"""Seconds from the request to its answer. The pause of TCP between two attempts doubles each time."""

NAME = "held_back"
PORT = PORTS[EXTERNAL]

LIST = f"ss -HtinO state established '( sport = :{PORT} )'"
_SOCKET = re.compile(rf":{PORT}\s+\S+:(\d+)\s.*\bbytes_received:(\d+)")


def received(output: str) -> dict[int, int]:
    """Bytes that the broker's kernel has received, by the client's port, from the output of `LIST`."""
    return {int(port): int(count) for port, count in _SOCKET.findall(output)}


class HeldBack:
    """A request that the broker does not have yet. seconds: from the request to its answer, once it is delivered."""

    def __init__(self, node: Node, port: int, answer: Task[Any], *, sent: float) -> None:
        self.seconds = 0.0
        self._node, self._port, self._answer, self._sent = node, port, answer, sent
        self._received = _received(node)[port]

    def deliver(self) -> Any:
        """Let the packets pass. Returns the answer to the request, which comes on its own connection.

        Raises NotExercised where the broker had any of it before.
        """
        dropped = counted(self._node, NAME)
        exercised(bool(dropped), "no packet of the request was dropped, or the rule has lapsed")
        exercised(_received(self._node)[self._port] == self._received, "the broker had received the request")
        exercised(not self._answer.done(), "the request was answered before its packets passed")
        _drop(self._node, None)
        answer = self._answer.result()
        self.seconds = round(time.monotonic() - self._sent, 1)
        return answer


@contextmanager
def held_back(context: ScenarioContext, node: int, request: Any) -> Iterator[HeldBack]:
    """Send it to that broker, which does not receive it, and wait until the client gives it up."""
    broker = context.cluster.nodes[node]
    others = _received(broker).keys()
    with Connection(context.cluster.brokers[node], timeout=LIMIT) as connection:
        connection.ask(ApiVersionsRequest(version=0))
        # The client's own port is another one: the engine's port forwarder lies between the two.
        ports = _received(broker).keys() - others
        exercised(len(ports) == 1, f"the broker has {len(ports)} new connections")
        (port,) = ports
        try:
            _drop(broker, port)
            asking = in_thread(partial(connection.ask, request), "kafkacheck-held-back")
            held = HeldBack(broker, port, asking, sent=time.monotonic())
            context.require(lambda: bool(counted(broker, NAME)), 5, "packets of the request are dropped")
            exercised(context.wait(asking.done, GIVES_UP) is None, "the request was answered")
            yield held
        finally:
            _drop(broker, None)


def _drop(node: Node, port: int | None) -> None:
    """Drop what comes from that port to the broker's listener for clients; None: nothing any more."""
    chains = [] if port is None else [chain("input", [f"tcp sport {port} tcp dport {PORT} counter drop"])]
    status, output = node.shell(f"nft {shlex.quote(table(f'kafkacheck_{NAME}', chains))}")
    exercised(not status, f"nft exited with status {status}: {output.strip()}")


def _received(node: Node) -> dict[int, int]:
    status, output = node.shell(LIST)
    exercised(not status, f"ss exited with status {status}: {output.strip()}")
    return received(output)
