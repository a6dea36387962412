"""Test packets from one node to another: how many arrive, in which order, and how long a connection takes.

A fault that drops or doubles packets counts them by its own means. These counts are independent of it.
"""

from __future__ import annotations

import math
import random
import re
import shlex
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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


NUMBER = 200
"""Datagrams of one exchange: as many as fit into the receiver's buffer, so that none is lost there."""

EXCHANGE_LIMIT = 10
"""Seconds for one exchange."""

PORTS = range(20_000, 30_000)
"""From which the receiver takes one. Those of outgoing connections are higher."""

# The receiver answers "?", so that the sender knows when to begin. It ends with the last datagram.
RECEIVER = """
use IO::Socket::INET; use IO::Select;
my ($port, $number, $limit) = @ARGV;
my $socket = IO::Socket::INET->new(Proto => "udp", LocalPort => $port) or die "port $port: $!\\n";
my ($end, $arrived, $overtook, %seen) = (time + $limit, 0, 0);
my $ready = IO::Select->new($socket);
while (time < $end && $arrived < $number) {
  next unless $ready->can_read(0.2);
  defined(my $from = $socket->recv(my $text, 100)) or next;
  if ($text eq "?") { $socket->send("!", 0, $from); next }
  next if $seen{$text}++;
  $overtook++ if $text > $arrived;
  $arrived++;
}
print "arrived $arrived overtook $overtook\\n";
"""
SENDER = """
use IO::Socket::INET; use IO::Select;
my ($address, $port, $number, $limit) = @ARGV;
my $socket = IO::Socket::INET->new(Proto => "udp", PeerAddr => $address, PeerPort => $port) or die "$!\\n";
my ($end, $ready) = (time + $limit, IO::Select->new($socket));
do {
  die "no answer\\n" if time > $end;
  $socket->send("?");
} until $ready->can_read(0.1) && $socket->recv(my $text, 100);
$socket->send($_) for 0 .. $number - 1;
"""


@dataclass(frozen=True, kw_only=True)
class Order:
    """overtook: datagrams that arrived before one that was sent earlier."""

    sent: int = 0
    arrived: int = 0
    overtook: int = 0

    def __add__(self, other: Order) -> Order:
        return Order(
            sent=self.sent + other.sent,
            arrived=self.arrived + other.arrived,
            overtook=self.overtook + other.overtook,
        )


def exchange(source: Node, receiver: Node) -> Order:
    """Send `NUMBER` datagrams at once. Where one is lost, the later ones count as overtaking."""
    port = random.choice(PORTS)
    with ThreadPoolExecutor(max_workers=2) as pool:
        receiving = pool.submit(
            receiver.look, _perl(RECEIVER, port, NUMBER, EXCHANGE_LIMIT), timeout=EXCHANGE_LIMIT + 5.0
        )
        pool.submit(
            source.look,
            _perl(SENDER, receiver.addresses[0], port, NUMBER, EXCHANGE_LIMIT),
            timeout=EXCHANGE_LIMIT + 5.0,
        ).result()
        _, output = receiving.result()
    found = re.search(r"arrived (\d+) overtook (\d+)", output)
    return Order(sent=NUMBER, arrived=int(found[1]) if found else 0, overtook=int(found[2]) if found else 0)


def shows_reordering(seen: Order, share: float) -> bool:
    """Whether no datagram was lost, and at least a quarter of that share overtook others.

    The kernel correlates its random numbers here, so the share varies more than independent ones do.
    """
    return 0 < seen.sent == seen.arrived and seen.overtook >= max(1.0, seen.sent * share / 4)


def _perl(script: str, *arguments: object) -> str:
    return " ".join(["perl", "-e", shlex.quote(script), *map(str, arguments)])


TRIES = 9
"""Connections, all at the same time."""

OPEN_LIMIT = 8.0
"""Seconds for a connection. A slower one is not measured."""


def measure(source: Node, receiver: Node) -> list[float]:
    """Milliseconds of each connection that was opened within `OPEN_LIMIT` seconds, in ascending order."""
    _, output = source.look(script(receiver.addresses[0], receiver.probe_port), timeout=OPEN_LIMIT + 5.0)
    return sorted(int(each) / 1000 for each in re.findall(r"^took (\d+)", output, re.MULTILINE))


def script(address: str, port: int) -> str:
    """Prints ``took <microseconds>`` for each connection."""
    connect = (
        f'begun=${{EPOCHREALTIME/[.,]/}}; exec 3<>"/dev/tcp/{address}/{port}" && '
        f'echo "took $((${{EPOCHREALTIME/[.,]/}} - begun))"'
    )
    one = f"timeout {OPEN_LIMIT} bash -c '{connect}' 2>/dev/null &"
    return "\n".join([*([one] * TRIES), "wait"])


def shows_delay(took: Sequence[float], ms: float, jitter_ms: float) -> bool:
    """Whether connections took as long as with packets that are delayed by `ms`, more or less by `jitter_ms`."""
    if not took:
        return False
    if jitter_ms < ms:
        return min(took) >= ms - jitter_ms
    return statistics.median(took) >= ms / 2
