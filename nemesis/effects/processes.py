"""Which broker processes shall run, be paused or be stopped, and making it so."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Literal

from nemesis.cluster import Node, State

Mechanism = Literal["freezer", "SIGSTOP"]


class Processes:
    """Every owner has its wish for a node, and the strongest counts: stopped over paused over running.

    So a node that two faults keep down comes up when the second one ends, and one that was killed while
    paused comes up paused if the pause outlasts the kill. Several nodes may be worked on at the same time.
    """

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._wishes: dict[int, dict[str, State]] = {}
        self._mechanism: dict[int, Mechanism] = {}
        self._lock = threading.Lock()

    @property
    def owners(self) -> frozenset[str]:
        with self._lock:
            return frozenset(owner for wishes in self._wishes.values() for owner in wishes)

    @property
    def touched(self) -> tuple[int, ...]:
        """Nodes that a fault ever wanted anything of."""
        with self._lock:
            return tuple(sorted(self._wishes))

    def desired(self, node: int) -> State:
        with self._lock:
            wishes = self._wishes.get(node, {}).values()
            return "stopped" if "stopped" in wishes else "paused" if "paused" in wishes else "running"

    def mechanism(self, node: int) -> Mechanism | None:
        """How the node was paused last."""
        return self._mechanism.get(node)

    def want(self, owner: str, node: int, state: State, *, gently: bool = False) -> None:
        """Replace an owner's wish. Raises whatever the node raises; the wish stands all the same.

        gently  let a process that is to stop end by itself.
        """
        with self._lock:
            self._wishes.setdefault(node, {})[owner] = state
        self._reconcile(node, gently=gently)

    def release(self, owner: str, node: int) -> None:
        """Drop an owner's wish. Raises whatever the node raises; the wish is gone all the same."""
        with self._lock:
            self._wishes.setdefault(node, {}).pop(owner, None)
        self._reconcile(node)

    def heal_all(self) -> None:
        """Let every node run that a fault ever touched. Raises ExceptionGroup after all were tried."""
        problems = []
        for node in self.touched:
            with self._lock:
                self._wishes[node].clear()
            try:
                if node in self._nodes:  # a fault may have removed it
                    self._reconcile(node)
            except Exception as problem:
                problem.add_note(f"while healing node {node}")
                problems.append(problem)
        if problems:
            raise ExceptionGroup("not every process could be healed", problems)

    def _reconcile(self, node: int, *, gently: bool = False) -> None:
        process, wanted, seen = self._nodes[node], self.desired(node), self._nodes[node].state()
        if seen == wanted:
            return
        if wanted == "stopped":
            process.stop() if gently and seen == "running" else process.kill()
            return
        if seen == "stopped":
            process.start()
        elif seen == "paused":
            process.thaw()
            # What is still paused was stopped by the signal.
            if process.state() == "paused":
                process.signal("CONT")
        if wanted == "paused":
            self._pause(node)

    def _pause(self, node: int) -> None:
        try:
            self._nodes[node].freeze()
            self._mechanism[node] = "freezer"
        except OSError:
            # The first version of the freezer gives up at times when the threads are busy.
            self._nodes[node].signal("STOP")
            self._mechanism[node] = "SIGSTOP"
