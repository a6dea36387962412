"""Searches the dependencies of one run for cycles of transactions, on the driver.

Dependencies are arrays. Those of a million transactions take gigabytes as rows.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from analyzers.catalogue.registry import CYCLE_CHECKS
from analyzers.graph import components, shortest_cycle

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


OF_NODES = ("ended", "invoked", "completed", "type")
"""Fields of the structs `source` and `target`, beside op."""


class Transactions:
    """The transactions that depend on others: nodes with the numbers from 0, in the order of `ended` and `op`.

    table  dependencies: kind, topic, partition, and source and target as structs of ended, op, type, invoked,
           completed.
    """

    def __init__(self, table: pa.Table) -> None:
        ends = pa.concat_tables(
            pa.table({name: pc.struct_field(table[end], name) for name in ("op", *OF_NODES)})
            for end in ("source", "target")
        )
        nodes = ends.group_by("op").aggregate([(name, "min") for name in OF_NODES])
        nodes = nodes.sort_by([("ended_min", "ascending"), ("op", "ascending")])
        self.ops: list[int] = nodes["op"].to_pylist()
        self.invoked: list[int] = nodes["invoked_min"].to_pylist()
        self._completed: list[int | None] = nodes["completed_min"].to_pylist()
        self._types: list[str] = nodes["type_min"].to_pylist()
        known = nodes["op"].combine_chunks()
        numbered = pa.table(
            {
                end: pc.index_in(pc.struct_field(table[end], "op"), value_set=known)
                for end in ("source", "target")
            }
            | {name: table[name] for name in ("kind", "topic", "partition")}
        )
        self._dependencies = numbered.sort_by([(name, "ascending") for name in ("source", "target", "kind")])

    def __len__(self) -> int:
        return len(self.ops)

    def dependencies(self, kinds: Collection[str]) -> Dependencies:
        chosen = pc.is_in(self._dependencies["kind"], value_set=pa.array(list(kinds), pa.string()))
        return Dependencies(len(self), self._dependencies.filter(chosen))

    def moments(self) -> Moments:
        return Moments(self.invoked, [
            (completed, node)
            for node, (completed, type) in enumerate(zip(self._completed, self._types, strict=True))
            if type == "ok" and completed is not None
        ])  # fmt: skip


class Dependencies:
    """Of some kinds: the targets of each source, in their order."""

    def __init__(self, count: int, table: pa.Table) -> None:
        """table: source, target (nodes), topic, partition; sorted by source and target."""
        self._starts = _starts(table["source"].to_pylist(), count)
        self._targets = array("q", table["target"].to_pylist())
        self._places = table.select(["topic", "partition"])

    def of(self, source: int) -> array[int]:
        """The targets."""
        return self._targets[self._starts[source] : self._starts[source + 1]]

    def place(self, source: int, target: int) -> tuple[str, int] | None:
        """Topic and partition of a dependency; None where there is none between these two."""
        begin, end = self._starts[source], self._starts[source + 1]
        after = bisect_right(self._targets, target, begin, end)
        if after == begin or self._targets[after - 1] != target:
            return None
        (row,) = self._places.slice(after - 1, 1).to_pylist()
        return row["topic"], row["partition"]


def _starts(numbers: Iterable[int], count: int) -> array[int]:
    """Of sorted numbers below `count`: where those equal to each number start, and at last how many there are."""
    found = Counter(numbers)
    return array("q", accumulate((found[number] for number in range(count)), initial=0))


class Moments:
    """The order in real time: an edge from each transaction that was acknowledged to each that began later.

    As pairs, these are quadratic. So there is a chain of moments, one for each end: the end leads into it, and each
    later begin leads out of it, up to the next moment.

    invoked  when each node began.
    ends     time and node of each end, sorted.
    """

    def __init__(self, invoked: Sequence[int], ends: Sequence[tuple[int, int]]) -> None:
        self._count = len(invoked)
        self._moments = {node: number for number, (_, node) in enumerate(ends)}
        begins = sorted(range(self._count), key=invoked.__getitem__)
        # What begins at the very time of an end does not begin after it.
        times = [time for time, _ in ends]
        of_moment = [bisect_left(times, invoked[node]) - 1 for node in begins]
        before = bisect_left(of_moment, 0)
        self._begun = array("q", begins[before:])
        self._starts = _starts(of_moment, len(ends))

    def after(self, node: int) -> Iterable[int]:
        """Where the edges of a transaction or a moment lead."""
        if node < self._count:
            moment = self._moments.get(node)
            return () if moment is None else (self._count + moment,)
        moment = node - self._count
        begun = self._begun[self._starts[moment] : self._starts[moment + 1]]
        return begun if moment + 2 == len(self._starts) else chain(begun, (node + 1,))
