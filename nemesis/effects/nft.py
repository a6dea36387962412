"""The text that nft reads and writes for cuts between nodes: rules that drop packets where they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nemesis.effects.lease_table import chain, hits, listing, rules, table

TABLE = "kafkacheck"

LIST = listing(TABLE)


@dataclass(frozen=True)
class Cut:
    """Packets from one node that another one must not receive: all of them, or those of some TCP ports.

    The port may be at either end of a connection, so both its requests and its responses are dropped.
    """

    receiver: int
    sender: int
    ports: frozenset[int] | None = None

    @property
    def rules(self) -> frozenset[Rule]:
        ports: Iterable[int | None] = (None,) if self.ports is None else self.ports
        return frozenset(Rule(self.receiver, self.sender, port) for port in ports)


@dataclass(frozen=True)
class Rule:
    """The smallest part of a cut. Cuts that overlap share their rules, so that a packet is counted once."""

    receiver: int
    sender: int
    port: int | None

    @property
    def comment(self) -> str:
        return str(self.sender) if self.port is None else f"{self.sender}:{self.port}"


def ruleset(cuts: Iterable[Cut], macs: Mapping[int, str]) -> str:
    """The text of one nft transaction that replaces the cuts of their receiver.

    macs  link-layer addresses of the senders by node id. Rules by link-layer address match IPv4 and IPv6 alike. They
          do not match clients on the host, whose packets have the bridge's address.
    """
    lines = []
    # Rules with a port come first: a rule for all packets before them would leave their counters at zero.
    for rule in sorted(
        {rule for cut in cuts for rule in cut.rules},
        key=lambda rule: (rule.port is None, rule.sender, rule.port or 0),
    ):
        ports = [""] if rule.port is None else [f"tcp dport {rule.port} ", f"tcp sport {rule.port} "]
        lines += [
            f'ether saddr {macs[rule.sender]} {port}counter drop comment "{rule.comment}"' for port in ports
        ]
    return table(TABLE, [chain("input", lines)] if lines else [])


def packets(output: str, receiver: int) -> dict[Rule, int]:
    """Packets dropped by each rule in force on a node, from the output of `LIST`. Raises ValueError."""
    counted: dict[Rule, int] = {}
    for found in rules(output):
        sender, _, port = found["comment"].partition(":")
        rule = Rule(receiver, int(sender), int(port) if port else None)
        counted[rule] = counted.get(rule, 0) + hits(found)
    return counted
