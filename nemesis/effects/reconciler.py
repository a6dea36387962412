"""The reconciler: what several faults want of a node's resources, combined and applied.

Faults overlap, and each one is injected and healed without knowledge of the others. Undoing a change is then wrong:
the heal of a CPU limit of 0.2 cores must not remove a limit of 0.5 cores that another fault still wants. So a fault
never changes a node. It registers a wish under its event's id; the wishes for one resource of one node are combined
to one value (the smallest limit, the sum of clock offsets, ...), and that value is applied. A heal withdraws the wish
and applies what the others still want. The same idea drives controllers of Kubernetes: store the wanted state, and
derive the actions from it every time.

`Network` does this for cuts between nodes, and `Processes` for processes; they need more than one value per node.

What is hard here: an application may fail half-way, because the node is being killed by another fault at that moment.
The wish then stands (or is gone) nevertheless, and the resource counts as unsure, so that `heal_all` applies it once
more at the end of the run. `remains` looks at the nodes themselves, because a stored state proves nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.cluster import Node


@dataclass(frozen=True)
class Resource:
    """Something of a node that faults change, such as its processor time.

    combine  the value that several wishes give together.
    apply    sets a node to that value; None for its state without faults. May raise.
    remains  what a look at the node finds although nothing is wanted; None for nothing. May raise.
    """

    name: str
    combine: Callable[[Sequence[Any]], Any]
    apply: Callable[[Node, Any], object]
    remains: Callable[[Node], str | None] = lambda _: None


class Reconciler:
    """Wishes of owners for resources of nodes. An owner is the id of an event. Safe for use by several threads."""

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._wishes: dict[tuple[Resource, int], dict[str, Any]] = {}
        # Resources whose last application failed: the state of the node is unknown.
        self._unsure: set[tuple[Resource, int]] = set()
        self._lock = threading.RLock()
        self._applying: dict[tuple[Resource, int], threading.Lock] = {}

    @property
    def owners(self) -> frozenset[str]:
        with self._lock:
            return frozenset(owner for wishes in self._wishes.values() for owner in wishes)

    def wanted(self, resource: Resource, node: int) -> Any:
        """The value that the node should have; None when no fault wants anything."""
        with self._lock:
            wishes = list(self._wishes.get((resource, node), {}).values())
        return resource.combine(wishes) if wishes else None

    def has_wishes(self, node: int) -> bool:
        """Whether any fault wants something of that node."""
        with self._lock:
            return any(wishes for (_, number), wishes in self._wishes.items() if number == node)

    def want(self, owner: str, node: int, resource: Resource, value: Any) -> None:
        """Replace an owner's wish and apply it. Passes on what `Resource.apply` raises; the wish stands
        nevertheless.
        """
        with self._lock:
            self._wishes.setdefault((resource, node), {})[owner] = value
        self._apply(resource, node)

    def release(self, owner: str, node: int, resource: Resource) -> None:
        """Withdraw an owner's wish and apply the rest. Passes on what `Resource.apply` raises; the wish is gone
        nevertheless."""
        with self._lock:
            wish = self._wishes.get((resource, node), {}).pop(owner, None)
        if wish is not None:
            self._apply(resource, node)

    def heal_all(self) -> None:
        """Withdraw all wishes, and apply that to every node where one stood or where an application failed.

        Raises ExceptionGroup after all were tried.
        """
        problems = []
        with self._lock:
            keys = [key for key, wishes in self._wishes.items() if wishes or key in self._unsure]
            for key in keys:
                self._wishes[key].clear()
        for resource, node in keys:
            try:
                if node in self._nodes:  # a fault may have removed it
                    self._apply(resource, node)
            except Exception as problem:
                problem.add_note(f"while restoring the {resource.name} of node {node}")
                problems.append(problem)
        if problems:
            raise ExceptionGroup("not every resource could be restored", problems)

    def remains(self) -> list[str]:
        """What a look at the nodes finds of faults that were healed, a line each. Passes on what the look raises."""
        found = []
        for resource, node in tuple(self._wishes):
            if self.wanted(resource, node) is not None:
                continue
            if node in self._nodes and (text := resource.remains(self._nodes[node])) is not None:
                found.append(f"node {node}: {text}")
        return found

    def _apply(self, resource: Resource, node: int) -> None:
        key = resource, node
        with self._lock:
            self._unsure.add(key)
            applying = self._applying.setdefault(key, threading.Lock())
        with applying:  # what is wanted is then not older than what another thread has applied
            resource.apply(self._nodes[node], self.wanted(resource, node))
            with self._lock:
                self._unsure.discard(key)


MEMORY = Resource("memory", min, lambda node, size: node.limit_memory(size))
"""Bytes that the container may use in all.

Wishes are absolute, so that a limit can be applied again when another one is lifted. A limit relative to the
use would have to be measured then, and a node that another fault has stopped or paused cannot be measured.
"""


def limit_above_use(node: Node, spare: int) -> int:
    """A limit that leaves `spare` bytes above what is in use now. The node must run."""
    used, _ = node.memory()
    return used + spare
