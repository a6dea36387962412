"""Numbered test datagrams from one node to another, and in which order they arrive."""

from __future__ import annotations

import random
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from nemesis.cluster import Node

NUMBER = 200
"""Datagrams of one exchange: as many as fit into the receiver's buffer, so that none is lost there."""

LIMIT = 10
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
        receiving = pool.submit(receiver.look, _perl(RECEIVER, port, NUMBER, LIMIT), timeout=LIMIT + 5.0)
        pool.submit(
            source.look, _perl(SENDER, receiver.addresses[0], port, NUMBER, LIMIT), timeout=LIMIT + 5.0
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
