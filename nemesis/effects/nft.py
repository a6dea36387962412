"""The text that nft reads and writes: tables with a lease, and rules for cuts between nodes.

The rules of a table are in force only for as long as something renews them. A harness that crashes must not leave a
cut behind. Two mechanisms make sure of that. The agent in a node's network namespace removes the rules when its input
ends, or when it gets no line for some seconds (a dead man's switch). But the agent itself can be killed, and then
nothing deletes its rules. So the kernel ends them: each table holds a set named ``lease`` whose elements time out,
and the first rule of every chain accepts every packet whose protocol is not in that set. Each line that the agent
gets renews the elements. When they are gone, every packet passes, although the rules are still listed.

That a lease ran out must not go unnoticed, because the fault then ended early. So `rules` reports no rules for a
table without lease elements, and a renewal cannot revive a lease that has run out.

A timer in the agent would end with the agent, and nft has no rules with a timeout, only set elements with one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

LEASE = 30
"""Seconds for which rules stay in force after a renewal; longer than agents take to remove them by themselves."""

_ELEMENTS = f"{{ ip timeout {LEASE}s, ip6 timeout {LEASE}s }}"

# Deleting an element that has run out fails, and with it the whole transaction, so a lapsed lease stays lapsed.
# Adding without deleting would not restart the timeout on older kernels.
RENEW = f"""nft list tables inet | while read -r _ _ table; do
  case $table in
    kafkacheck*) nft "delete element inet $table lease {{ ip, ip6 }}; add element inet $table lease {_ELEMENTS}" ;;
  esac
done"""
"""A shell command that renews the lease of all tables of ours in a network namespace, except lapsed ones."""


def chain(hook: Literal["input", "output"], rules: Iterable[str]) -> str:
    """A chain with these rules, at a hook before the Docker engine translates addresses."""
    lines = [
        f"type filter hook {hook} priority -300; policy accept;",
        "meta protocol != @lease accept",
        *rules,
    ]
    return f" chain {hook} {{\n" + "".join(f"  {line}\n" for line in lines) + " }\n"


def table(name: str, chains: Iterable[str]) -> str:
    """The text of one transaction that replaces the chains of a table. Without chains the table is deleted."""
    # Creating the table first makes the deletion succeed where the table does not exist.
    text = f"table inet {name}\ndelete table inet {name}\n"
    if not (body := "".join(chains)):
        return text
    lease = f" set lease {{ type ether_type; flags timeout; elements = {_ELEMENTS}; }}\n"
    return f"{text}table inet {name} {{\n{lease}{body}}}\n"


def listing(name: str) -> str:
    """A command whose output `rules` parses. Without such a table it fails with "No such file or directory"."""
    return f"LC_ALL=C nft -j list table inet {name}"


def rules(output: str) -> list[Mapping[str, Any]]:
    """The rules that count packets, from the output of `listing`; none when the lease ran out. Raises ValueError."""
    entries = json.loads(output)["nftables"]
    if not any(entry.get("set", {}).get("elem") for entry in entries):
        return []
    return [
        rule
        for entry in entries
        if (rule := entry.get("rule")) and any("counter" in part for part in rule["expr"])
    ]


def hits(rule: Mapping[str, Any]) -> int:
    """Packets that a rule matched."""
    return sum(int(part["counter"]["packets"]) for part in rule["expr"] if "counter" in part)


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
