"""Searches the dependencies of one run for cycles of transactions, on the driver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import pyarrow as pa

from analyzers.catalogue.registry import CYCLE_CHECKS
from analyzers.graph import components, shortest_cycle
from analyzers.judge.dependency_graph import Dependencies, Moments, Transactions

REALTIME = "realtime"

LEVELS: Mapping[str, frozenset[str]] = {
    check.name: check.edges
    for check in sorted(CYCLE_CHECKS, key=lambda check: (len(check.edges), check.name))
}
"""Anomaly to the kinds of dependencies that its cycles consist of; fewer kinds come first."""


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """A set of transactions that reach each other."""

    example: Mapping[str, int | str | None]
    """Its evidence in a finding."""
    cycle: tuple[int, ...]
    """The operations of a shortest cycle in the set, beginning with the first transaction in time."""

    @property
    def began(self) -> int:
        """ns, of the first transaction."""
        time = self.example["time"]
        assert isinstance(time, int)
        return time


def search(table: pa.Table, anomalies: Sequence[str]) -> dict[str, list[Cycle]]:
    """The cycles of each of these anomalies, in order of time.

    table  dependencies of one run, as `Transactions` takes them.

    A set that contains a cycle of an anomaly with fewer kinds of dependencies counts for that anomaly only.
    """
    transactions = Transactions(table)
    moments = transactions.moments()
    cycles: dict[str, list[Cycle]] = {}
    cyclic: dict[str, frozenset[int]] = {}  # the members of all sets
    for anomaly, kinds in LEVELS.items():
        dependencies = transactions.dependencies(kinds)
        successors = _successors(dependencies, moments if REALTIME in kinds else None, len(transactions))
        sets = [frozenset(each) for each in components(range(len(transactions)), successors)]
        # What reaches each other over fewer kinds does so here, too. So a set has all of a simpler one, or nothing.
        simpler = frozenset().union(*(members for other, members in cyclic.items() if LEVELS[other] < kinds))
        cyclic[anomaly] = frozenset().union(*sets)
        if anomaly in anomalies:
            cycles[anomaly] = sorted(
                (
                    _cycle(each, successors, transactions, dependencies)
                    for each in sets
                    if simpler.isdisjoint(each)
                ),
                key=_order,
            )
    return cycles


def _successors(
    dependencies: Dependencies, moments: Moments | None, count: int
) -> Callable[[int], Iterable[int]]:
    """Of transactions, and of moments, whose numbers begin with `count`."""
    if moments is None:
        return dependencies.of
    return lambda node: chain(dependencies.of(node) if node < count else (), moments.after(node))


def _cycle(
    component: Collection[int],
    successors: Callable[[int], Iterable[int]],
    transactions: Transactions,
    dependencies: Dependencies,
) -> Cycle:
    ops, count = transactions.ops, len(transactions)
    members = [node for node in component if node < count]
    first = min(members, key=lambda node: (transactions.invoked[node], ops[node]))
    cycle = [node for node in shortest_cycle(successors, first, component) if node < count]
    places = (dependencies.place(*pair) for pair in pairwise([*cycle, first]))
    topic, partition = next((place for place in places if place is not None), (None, None))
    example = {
        "topic": topic,
        "partition": partition,
        "time": transactions.invoked[first],
        "transaction": ops[first],
        "other": ops[cycle[1]],
        "length": len(cycle),
        "size": len(members),
    }
    return Cycle(example=example, cycle=tuple(ops[node] for node in cycle))


def _order(cycle: Cycle) -> tuple[int, int]:
    op = cycle.example["transaction"]
    assert isinstance(op, int)
    return cycle.began, op
