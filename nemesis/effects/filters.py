"""Packet filters of a node other than cuts between nodes. Each has an nft table of its own."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nemesis.cluster import Node
from nemesis.effects.lease_table import hits, listing, rules, table
from nemesis.effects.network import NetworkError
from nemesis.effects.reconciler import Resource


def filtered(
    name: str, combine: Callable[[Sequence[Any]], Any], chains: Callable[[Any], Iterable[str]]
) -> Resource:
    """A resource that is the nft table ``kafkacheck_<name>``. Its rules lapse when they are not renewed.

    combine  the value that several wishes give together.
    chains   the chains of the table for that value, each made by `nemesis.effects.lease_table.chain`.
    """

    def apply(node: Node, value: Any) -> None:
        text = table(_table(name), () if value is None else chains(value))
        status, output = node.shell(f"nft {shlex.quote(text)}")
        if status:
            raise NetworkError(f"nft exited with status {status}: {output.strip()}")

    def remains(node: Node) -> str | None:
        return None if _listed(node, name) is None else f"the rules of {name} are still there"

    return Resource(name, combine, apply, remains)


def counted(node: Node, name: str) -> int | None:
    """Packets that the rules of that table matched; None where no rules are in force. Raises NetworkError."""
    in_force = counters(node, name)
    return sum(in_force) if in_force else None


def counters(node: Node, name: str) -> list[int]:
    """Packets that each rule of that table matched; empty where no rules are in force. Raises NetworkError."""
    output = _listed(node, name)
    return [] if output is None else [hits(rule) for rule in rules(output)]


def _listed(node: Node, name: str) -> str | None:
    """The listing of that table by nft; None where there is no such table. Raises NetworkError."""
    status, output = node.shell(listing(_table(name)))
    if status and "No such file or directory" in output:
        return None
    if status:
        raise NetworkError(f"nft exited with status {status}: {output.strip()}")
    return output


def _table(name: str) -> str:
    return f"kafkacheck_{name.replace('-', '_')}"
