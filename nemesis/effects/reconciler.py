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
    left     what a look at the node finds of it when nothing is wished; None for nothing. May raise.
    """

    name: str
    combine: Callable[[Sequence[Any]], Any]
    apply: Callable[[Node, Any], object]
    left: Callable[[Node], str | None] = lambda _: None


class Reconciler:
    """Every owner has its wish for a node's resource; the node gets what they come to, so overlaps compose."""

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._wishes: dict[tuple[Resource, int], dict[str, Any]] = {}
        # Resources whose last application failed: nobody knows what the node has.
        self._unsure: set[tuple[Resource, int]] = set()
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
        self._apply(resource, node)

    def release(self, owner: str, node: int, resource: Resource) -> None:
        """Drop an owner's wish. Raises whatever applying the rest raises; the wish is gone all the same."""
        with self._lock:
            held = self._wishes.get((resource, node), {}).pop(owner, None)
        if held is not None:
            self._apply(resource, node)

    def heal_all(self) -> None:
        """Give every node back what faults still hold, or what could not be given back before.

        Raises ExceptionGroup after all were tried.
        """
        problems = []
        with self._lock:
            held = [key for key, wishes in self._wishes.items() if wishes or key in self._unsure]
            for key in held:
                self._wishes[key].clear()
        for resource, node in held:
            try:
                if node in self._nodes:  # a fault may have removed it
                    self._apply(resource, node)
            except Exception as problem:
                problem.add_note(f"while giving node {node} back its {resource.name}")
                problems.append(problem)
        if problems:
            raise ExceptionGroup("not every resource could be given back", problems)

    def left(self) -> list[str]:
        """What a look at the nodes finds of faults that are over, a line each. Raises what looking raises."""
        found = []
        for resource, node in tuple(self._wishes):
            if node in self._nodes and (text := resource.left(self._nodes[node])) is not None:
                found.append(f"node {node}: {text}")
        return found

    def _apply(self, resource: Resource, node: int) -> None:
        with self._lock:
            self._unsure.add((resource, node))
        resource.apply(self._nodes[node], self.now(resource, node))
        with self._lock:
            self._unsure.discard((resource, node))
