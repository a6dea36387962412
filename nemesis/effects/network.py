"""Packet filters of nodes: the cuts that all faults want together, and other filters, each with a table of its own.

The idea is that of `nemesis.effects.reconciler`: wishes are combined, and the nodes are brought to the result.
"""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from nemesis.cluster import Node
from nemesis.effects.nft import LIST, Cut, Rule, hits, listing, packets, rules, ruleset, table
from nemesis.effects.reconciler import Resource

T = TypeVar("T")


class NetworkError(RuntimeError):
    """A command failed at a node's packet filter. Names the nodes, and has the output of the command."""


class Network:
    """Cuts by owner, which is the id of an event. The nodes get the union, so the heal of one fault leaves the
    others.

    Safe for use by several threads; it works on several nodes in parallel.
    """

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._owned: dict[str, frozenset[Cut]] = {}
        # The cuts that each node got last. The state of a node that is missing here is unknown.
        self._applied: dict[int, frozenset[Cut]] = {node: frozenset() for node in nodes}
        # Applying rules again sets their counters to zero; these are the counts before that.
        self._earlier: dict[Rule, int] = {}
        # Rules that had vanished when their node got new ones. They are in force again, but were not all the time.
        self._lost: set[Rule] = set()
        self._wishing = threading.Lock()
        self._locks: dict[int, threading.Lock] = {}

    @property
    def cuts(self) -> frozenset[Cut]:
        """The union of the cuts that all owners want."""
        with self._wishing:
            return frozenset().union(*self._owned.values())

    @property
    def owners(self) -> frozenset[str]:
        with self._wishing:
            return frozenset(self._owned)

    def cut(self, owner: str, cuts: Iterable[Cut]) -> None:
        """Replace the cuts of an owner and apply the union. Raises NetworkError after all nodes were tried."""
        wanted = frozenset(cuts)
        with self._wishing:
            self._owned[owner] = wanted
        self._reconcile()

    def heal(self, owner: str) -> None:
        """Withdraw the cuts of an owner and apply the rest. Raises NetworkError after all nodes were tried."""
        with self._wishing:
            self._owned.pop(owner, None)
        self._reconcile()

    def heal_all(self) -> None:
        """Remove every rule from every node, known or not. Raises NetworkError after all nodes were tried."""
        with self._wishing:
            self._owned.clear()
        self._applied.clear()
        self._reconcile()

    def dropped(self, nodes: Collection[int]) -> dict[Rule, int]:
        """Packets dropped so far by each rule of these nodes that was in force for as long as a fault wanted it.

        Raises NetworkError.
        """
        counted = on_each(nodes, self._counted)
        return {rule: count for each in counted.values() for rule, count in each.items()}

    def unwanted(self, nodes: Collection[int]) -> frozenset[Rule]:
        """The rules of these nodes that no fault wants, neither before nor after the look. Raises NetworkError."""
        before = self.cuts
        found = self.dropped(nodes).keys()
        return frozenset(found) - {rule for cut in (*before, *self.cuts) for rule in cut.rules}

    def _counted(self, node: int) -> dict[Rule, int]:
        with self._lock(node):
            found = self._read(node)
            return {
                rule: self._earlier.get(rule, 0) + count
                for rule, count in found.items()
                if rule not in self._lost
            }

    def _reconcile(self) -> None:
        try:
            on_each(tuple(self._nodes), self._reconcile_node)
        finally:
            wanted = {rule for cut in self.cuts for rule in cut.rules}
            with self._wishing:
                self._lost &= wanted

    def _reconcile_node(self, node: int) -> None:
        """Under the lock, what is wanted cannot be older than what another thread has applied."""
        with self._lock(node):
            wanted = frozenset(cut for cut in self.cuts if cut.receiver == node)
            if self._applied.get(node) != wanted:
                self._apply(node, wanted)

    def _lock(self, node: int) -> threading.Lock:
        return self._locks.setdefault(node, threading.Lock())

    def _apply(self, node: int, cuts: frozenset[Cut]) -> None:
        expected = self._applied.pop(node, frozenset())
        found: dict[Rule, int] = {}
        # Where the old rules cannot be read, their counts are lost. That understates the proof, which is safe. A heal
        # must not fail for that reason.
        with contextlib.suppress(NetworkError):
            found = self._read(node)
            vanished = {rule for cut in expected for rule in cut.rules} - found.keys()
            with self._wishing:
                self._lost |= vanished
        text = ruleset(cuts, {cut.sender: self._nodes[cut.sender].mac for cut in cuts})
        status, output = self._nodes[node].shell(f"nft {shlex.quote(text)}")
        if status:
            raise NetworkError(f"nft exited with status {status}: {output.strip()}")
        self._applied[node] = cuts
        for rule, count in found.items():
            self._earlier[rule] = self._earlier.get(rule, 0) + count

    def _read(self, node: int) -> dict[Rule, int]:
        status, output = self._nodes[node].shell(LIST)
        if status and "No such file or directory" in output:
            return {}
        if status:
            raise NetworkError(f"`{LIST}` exited with status {status}: {output.strip()}")
        try:
            return packets(output, node)
        except (KeyError, TypeError, ValueError) as error:
            raise NetworkError(
                f"the output of `{LIST}` cannot be parsed ({error!r}): {output[:300]}"
            ) from error


def on_each(nodes: Collection[int], work: Callable[[int], T]) -> dict[int, T]:
    """Call `work` for all nodes at the same time. Raises NetworkError at the end, naming where it failed."""
    if not nodes:
        return {}
    with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
        futures = {node: pool.submit(work, node) for node in nodes}
    failed = {node: problem for node, future in futures.items() if (problem := future.exception())}
    if failed:
        raise NetworkError("; ".join(f"node {node}: {problem}" for node, problem in sorted(failed.items())))
    return {node: future.result() for node, future in futures.items()}


def filtered(
    name: str, combine: Callable[[Sequence[Any]], Any], chains: Callable[[Any], Iterable[str]]
) -> Resource:
    """A resource that is the nft table ``kafkacheck_<name>``. Its rules lapse when they are not renewed.

    combine  the value that several wishes give together.
    chains   the chains of the table for that value, each made by `nemesis.effects.nft.chain`.
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
