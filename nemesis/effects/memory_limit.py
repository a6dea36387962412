"""The memory that a node's container may use."""

from __future__ import annotations

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource


def _apply(node: Node, spare: int | None) -> None:
    node.limit_memory(None if spare is None else node.memory()[0] + spare)


MEMORY = Resource("memory", min, _apply)
"""Bytes above what is in use when the limit is set."""
