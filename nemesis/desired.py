"""What all faults together want of a node's resources, and making it so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nemesis.cluster import Node


@dataclass(frozen=True)
class Resource:
    """Something of a node that faults change, such as its share of the processors.

    combine  what several wishes come to together.
    apply    give a node what they came to; None for what it has without faults. May raise.
    """

    name: str
    combine: Callable[[Sequence[Any]], Any]
    apply: Callable[[Node, Any], object]


class Desired:
    """Every owner has its wish for a node's resource; the node gets what they come to, so overlaps compose."""

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._wishes: dict[tuple[Resource, int], dict[str, Any]] = {}
        self._lock = threading.RLock()

    @property
    def owners(self) -> frozenset[str]:
        with self._lock:
            return frozenset(owner for wishes in self._wishes.values() for owner in wishes)

    def now(self, resource: Resource, node: int) -> Any:
        """What the node shall have of it; None when no fault wants anything."""
        with self._lock:
            wishes = list(self._wishes.get((resource, node), {}).values())
        return resource.combine(wishes) if wishes else None

    def want(self, owner: str, node: int, resource: Resource, value: Any) -> None:
        """Replace an owner's wish. Raises whatever applying it raises; the wish stands all the same."""
        with self._lock:
            self._wishes.setdefault((resource, node), {})[owner] = value
        resource.apply(self._nodes[node], self.now(resource, node))

    def release(self, owner: str, node: int, resource: Resource) -> None:
        """Drop an owner's wish. Raises whatever applying the rest raises; the wish is gone all the same."""
        with self._lock:
            held = self._wishes.get((resource, node), {}).pop(owner, None)
        if held is not None:
            resource.apply(self._nodes[node], self.now(resource, node))

    def heal_all(self) -> None:
        """Give every node back what a fault ever changed. Raises ExceptionGroup after all were tried."""
        problems = []
        for resource, node in tuple(self._wishes):
            with self._lock:
                self._wishes[resource, node].clear()
            try:
                if node in self._nodes:  # a fault may have removed it
                    resource.apply(self._nodes[node], None)
            except Exception as problem:
                problem.add_note(f"while giving node {node} back its {resource.name}")
                problems.append(problem)
        if problems:
            raise ExceptionGroup("not every resource could be given back", problems)
