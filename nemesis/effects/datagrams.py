"""Test datagrams from one node to another, counted by the kernel of the receiver.

A fault that drops or doubles packets counts them by its own means. These counts are independent of it: bash sends
UDP datagrams to a port where nothing listens, and the receiver's kernel counts each of them as one that no port wants
(``NoPorts``). They need no process at the receiver, so none is lost because one was slow.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nemesis.cluster import Node
from nemesis.effects.network import NetworkError

PORT = 9
"""UDP's discard service, which no node has."""

BURST = 500
"""Datagrams in one command, which takes some ten milliseconds."""

MOST = 10_000
"""Datagrams at most for one measurement."""

SIGMAS = 4.0
"""Standard deviations by which a share may differ from the expected one."""

COUNT = 'awk \'$1 == "Udp:" && ++line == 2 { print "unwanted " $3 }\' /proc/net/snmp'
"""Prints how many datagrams arrived for which there was no port."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """sent: datagrams. arrived: as the receiver counted them, copies included."""

    sent: int = 0
    arrived: int = 0

    def __add__(self, other: Passage) -> Passage:
        return Passage(sent=self.sent + other.sent, arrived=self.arrived + other.arrived)


def send(source: Node, receiver: Node, number: int) -> Passage:
    """Send that many datagrams, or some more, and count those that arrive. Raises NetworkError."""
    total = Passage()
    while total.sent < number:
        before = _arrived(receiver)
        target = f"/dev/udp/{receiver.addresses[0]}/{PORT}"
        status, output = source.look(f"for ((i = 0; i < {BURST}; i++)); do printf . >{target}; done")
        if status:
            raise NetworkError(f"no datagrams could be sent from {source.host}: {output.strip()}")
        total += Passage(sent=BURST, arrived=_arrived(receiver) - before)
    return total


def needed(share: float) -> int | None:
    """How many packets show that such a share of them, and not none, is affected. None for more than `MOST`."""
    number = BURST
    while number * share - _deviation(number, share) < 1:
        number += BURST
        if number > MOST:
            return None
    return number


def agrees(number: int, affected: int, share: float) -> bool:
    """Whether that many of `number` packets may be affected where each one is with the probability `share`."""
    return abs(affected - number * share) <= _deviation(number, share)


def _deviation(number: int, share: float) -> float:
    return SIGMAS * math.sqrt(number * share * (1 - share)) + (0 < share < 1)


def _arrived(receiver: Node) -> int:
    status, output = receiver.look(COUNT)
    found = re.search(r"unwanted (\d+)", output)
    if status or found is None:
        raise NetworkError(f"the datagrams at {receiver.host} could not be counted: {output.strip()}")
    return int(found[1])
