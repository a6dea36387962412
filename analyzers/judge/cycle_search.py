"""Searches the dependencies of one run for cycles of transactions, on the driver."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Row

from analyzers.catalogue.registry import CYCLE_CHECKS
from analyzers.graph import components, shortest_cycle

Node = int | tuple[int]
"""An operation, or as a tuple a moment in time."""

Graph = dict[Node, list[Node]]

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


def search(rows: Sequence[Row], anomalies: Sequence[str]) -> dict[str, list[Cycle]]:
    """The cycles of each of these anomalies, in order of time.

    rows  dependencies: kind, topic, partition, and source and target as structs of op, type, invoked, completed.

    A set that contains a cycle of an anomaly with fewer kinds of dependencies counts for that anomaly only.
    """
    nodes = {end.op: end for row in rows for end in (row.source, row.target)}
    cycles: dict[str, list[Cycle]] = {}
    cyclic: dict[str, frozenset[int]] = {}  # the operations of all sets
    for anomaly, kinds in LEVELS.items():
        graph = _graph(rows, nodes, kinds)
        sets = [frozenset(each) for each in components(graph)]
        # What reaches each other over fewer kinds does so here, too. So a set has all of a simpler one, or nothing.
        simpler = frozenset().union(*(ops for other, ops in cyclic.items() if LEVELS[other] < kinds))
        cyclic[anomaly] = frozenset(op for each in sets for op in _operations(each))
        if anomaly in anomalies:
            logs = {
                (row.source.op, row.target.op): (row.topic, row.partition)
                for row in rows
                if row.kind in kinds
            }
            new = [each for each in sets if simpler.isdisjoint(_operations(each))]
            cycles[anomaly] = sorted((_cycle(each, graph, nodes, logs) for each in new), key=_order)
    return cycles


def _operations(nodes: Iterable[Node]) -> list[int]:
    return [node for node in nodes if isinstance(node, int)]


def _graph(rows: Sequence[Row], nodes: Mapping[int, Row], kinds: Collection[str]) -> Graph:
    """Operations and the dependencies between them.

    The order in real time has an edge for every pair, which is quadratic. So with `realtime` the graph also holds a
    chain of moments: each end of an operation leads into it, and each later begin leads out of it.
    """
    graph: Graph = {op: [] for op in nodes}
    for row in rows:
        if row.kind in kinds:
            graph[row.source.op].append(row.target.op)
    if "realtime" not in kinds:
        return graph
    ends = [
        (node.completed, 1, op)
        for op, node in nodes.items()
        if node.type == "ok" and node.completed is not None
    ]
    begins = [(node.invoked, 0, op) for op, node in nodes.items()]
    moment: tuple[int] | None = None
    for number, (_, is_end, op) in enumerate(sorted(ends + begins)):
        if is_end:
            graph[number,] = []
            graph[op].append((number,))
            if moment is not None:
                graph[moment].append((number,))
            moment = (number,)
        elif moment is not None:
            graph[moment].append(op)
    return graph


def _cycle(
    component: Collection[Node],
    graph: Graph,
    nodes: Mapping[int, Row],
    logs: Mapping[tuple[int, int], tuple[str, int]],
) -> Cycle:
    members = _operations(component)
    first = min(members, key=lambda op: (nodes[op].invoked, op))
    cycle = _operations(shortest_cycle(graph, first, component))
    pairs = zip(cycle, [*cycle[1:], first], strict=True)
    topic, partition = next((logs[pair] for pair in pairs if pair in logs), (None, None))
    example = {
        "topic": topic,
        "partition": partition,
        "time": nodes[first].invoked,
        "transaction": first,
        "other": cycle[1],
        "length": len(cycle),
        "size": len(members),
    }
    return Cycle(example=example, cycle=tuple(cycle))


def _order(cycle: Cycle) -> tuple[int, int]:
    op = cycle.example["transaction"]
    assert isinstance(op, int)
    return cycle.began, op
