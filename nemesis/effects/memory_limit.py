"""The memory that a node's container may use."""

from __future__ import annotations

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource

MEMORY = Resource("memory", min, lambda node, size: node.limit_memory(size))
"""Bytes that the container may use in all.

Wishes are absolute, so that a limit can be applied again when another one is lifted. A limit relative to the
use would have to be measured then, and a node that another fault has stopped or paused cannot be measured.
"""


def limit_above_use(node: Node, spare: int) -> int:
    """A limit that leaves `spare` bytes above what is in use now. The node must run."""
    used, _ = node.memory()
    return used + spare
