"""Rules of a node's packet filter other than cuts between nodes; each kind has a table of its own."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nemesis.cluster import Node
from nemesis.desired import Resource
from nemesis.network import NetworkError


def filtered(
    name: str, combine: Callable[[Sequence[Any]], Any], rules: Callable[[Any], Iterable[str]]
) -> Resource:
    """A resource that is an nft table ``kafkacheck_<name>``, removed by agents that fall silent.

    rules  the table's chains and their rules, line by line, for what the wishes come to.
    """

    def apply(node: Node, value: Any) -> None:
        # Naming the table before deleting it makes the deletion succeed where there is none.
        lines = [f"table inet {_table(name)}", f"delete table inet {_table(name)}"]
        if value is not None:
            lines += [f"table inet {_table(name)} {{", *rules(value), "}"]
        text = "\n".join(lines) + "\n"
        status, output = node.shell(f"nft {shlex.quote(text)}")
        if status:
            raise NetworkError(f"nft exited with status {status}: {output.strip()}")

    def left(node: Node) -> str | None:
        return None if counted(node, name) is None else f"the rules of {name} are still there"

    return Resource(name, combine, apply, left)


def counted(node: Node, name: str) -> int | None:
    """Packets that rules of that table hit; None where there is no such table. Raises NetworkError."""
    status, output = node.shell(f"LC_ALL=C nft -j list table inet {_table(name)}")
    if status and "No such file or directory" in output:
        return None
    if status:
        raise NetworkError(f"nft exited with status {status}: {output.strip()}")
    return sum(
        int(part["counter"]["packets"])
        for entry in json.loads(output)["nftables"]
        for part in entry.get("rule", {}).get("expr", ())
        if "counter" in part
    )


def _table(name: str) -> str:
    return f"kafkacheck_{name.replace('-', '_')}"
