"""A table of nft whose rules are in force for as long as they are renewed: the kernel itself ends them.

Agents heal when their master falls silent. This is for the agent that is killed, too: nobody deletes its rules, but
every chain lets all packets pass once the lease in its table has run out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

LEASE = 30
"""Seconds after the last renewal in which rules are in force; more than agents take to heal by themselves."""

_ELEMENTS = f"{{ ip timeout {LEASE}s, ip6 timeout {LEASE}s }}"

# Deleting an element that has run out fails, and with it the whole transaction: what has lapsed stays so. Adding
# alone would not renew on older kernels.
RENEW = f"""nft list tables inet | while read -r _ _ table; do
  case $table in
    kafkacheck*) nft "delete element inet $table lease {{ ip, ip6 }}; add element inet $table lease {_ELEMENTS}" ;;
  esac
done"""
"""A shell command that renews all tables of ours in a network namespace that have not lapsed."""


def chain(hook: Literal["input", "output"], rules: Iterable[str]) -> str:
    """Rules at a hook, before the engine turns any address into another one."""
    lines = [
        f"type filter hook {hook} priority -300; policy accept;",
        "meta protocol != @lease accept",
        *rules,
    ]
    return f" chain {hook} {{\n" + "".join(f"  {line}\n" for line in lines) + " }\n"


def table(name: str, chains: Iterable[str]) -> str:
    """One transaction that makes these chains the only ones of a table; without chains there is no such table."""
    # Naming the table before deleting it makes the deletion succeed where there is none.
    text = f"table inet {name}\ndelete table inet {name}\n"
    if not (body := "".join(chains)):
        return text
    lease = f" set lease {{ type ether_type; flags timeout; elements = {_ELEMENTS}; }}\n"
    return f"{text}table inet {name} {{\n{lease}{body}}}\n"


def listing(name: str) -> str:
    """A command whose output `rules` reads. Without such a table it fails with "No such file or directory"."""
    return f"LC_ALL=C nft -j list table inet {name}"


def rules(output: str) -> list[Mapping[str, Any]]:
    """The rules that count packets, from the output of `listing`; none when they have lapsed. Raises ValueError."""
    entries = json.loads(output)["nftables"]
    if not any(entry.get("set", {}).get("elem") for entry in entries):
        return []
    return [
        rule
        for entry in entries
        if (rule := entry.get("rule")) and any("counter" in part for part in rule["expr"])
    ]


def hits(rule: Mapping[str, Any]) -> int:
    """Packets that a rule counted."""
    return sum(int(part["counter"]["packets"]) for part in rule["expr"] if "counter" in part)
