"""Which broker processes should run, be paused or be stopped, and making it so.

The idea is that of `nemesis.effects.reconciler`: wishes are combined, and the process is brought to the result.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Literal

from nemesis.cluster import Node, State

Mechanism = Literal["freezer", "SIGSTOP"]


class Processes:
    """Wishes of owners for the state of a node's process. The strongest counts: stopped over paused over running.

    A node that two faults keep down starts when the second one ends. A process that is killed while paused is started
    and paused again, if the pause outlasts the kill. Safe for use by several threads.
    """

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._wishes: dict[int, dict[str, State]] = {}
        self._mechanism: dict[int, Mechanism] = {}
        self._lock = threading.Lock()
        self._reconciling: dict[int, threading.Lock] = {}

    @property
    def owners(self) -> frozenset[str]:
        with self._lock:
            return frozenset(owner for wishes in self._wishes.values() for owner in wishes)

    @property
    def touched(self) -> tuple[int, ...]:
        """Nodes for whose process a fault ever had a wish."""
        with self._lock:
            return tuple(sorted(self._wishes))

    def wanted(self, node: int) -> State:
        with self._lock:
            wishes = self._wishes.get(node, {}).values()
            return "stopped" if "stopped" in wishes else "paused" if "paused" in wishes else "running"

    def mechanism(self, node: int) -> Mechanism | None:
        """How the node was paused last."""
        return self._mechanism.get(node)

    def want(self, owner: str, node: int, state: State, *, gently: bool = False) -> None:
        """Replace an owner's wish and apply it. Passes on what the node raises; the wish stands nevertheless.

        gently  stop the process by SIGTERM, not by SIGKILL.
        """
        with self._lock:
            self._wishes.setdefault(node, {})[owner] = state
        self._reconcile(node, gently=gently)

    def release(self, owner: str, node: int) -> None:
        """Withdraw an owner's wish and apply the rest. Passes on what the node raises; the wish is gone
        nevertheless.
        """
        with self._lock:
            self._wishes.setdefault(node, {}).pop(owner, None)
        self._reconcile(node)

    def heal_all(self) -> None:
        """Let every node run for which a fault ever had a wish. Raises ExceptionGroup after all were tried."""
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

    def _reconcile(self, number: int, *, gently: bool = False) -> None:
        """One thread at a time for a node: what is wanted is then not older than what another one has applied."""
        with self._lock:
            reconciling = self._reconciling.setdefault(number, threading.Lock())
        with reconciling:
            self._bring_to(number, self.wanted(number), gently=gently)

    def _bring_to(self, number: int, wanted: State, *, gently: bool) -> None:
        node = self._nodes[number]
        actual = node.state()
        if actual == wanted:
            return
        if wanted == "stopped":
            node.stop() if gently and actual == "running" else node.kill()
            return
        if actual == "stopped":
            node.start()
        elif actual == "paused":
            node.thaw()
            # A process that is still paused was stopped by the signal.
            if node.state() == "paused":
                node.signal("CONT")
        if wanted == "paused":
            self._pause(number)

    def _pause(self, number: int) -> None:
        try:
            self._nodes[number].freeze()
            self._mechanism[number] = "freezer"
        except OSError:
            # The freezer of cgroup v1 sometimes gives up when the threads are busy.
            self._nodes[number].signal("STOP")
            self._mechanism[number] = "SIGSTOP"
