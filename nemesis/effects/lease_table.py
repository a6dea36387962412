"""nft tables with a lease: their rules are in force only for as long as something renews them.

A harness that crashes must not leave a cut behind. Two mechanisms make sure of that. The agent in a node's network
namespace removes the rules when its input ends, or when it gets no line for some seconds (a dead man's switch). But
the agent itself can be killed, and then nothing deletes its rules. So the kernel ends them: each table holds a set
named ``lease`` whose elements time out, and the first rule of every chain accepts every packet whose protocol is not
in that set. Each line that the agent gets renews the elements. When they are gone, every packet passes, although the
rules are still listed.

That a lease ran out must not go unnoticed, because the fault then ended early. So `rules` reports no rules for a
table without lease elements, and a renewal cannot revive a lease that has run out.

A timer in the agent would end with the agent, and nft has no rules with a timeout, only set elements with one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
