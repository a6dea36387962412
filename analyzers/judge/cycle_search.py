"""Searches the dependencies of one run for cycles of transactions, on the driver."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    sets_by_anomaly: dict[str, list[frozenset[int]]] = {}
    for anomaly, kinds in LEVELS.items():
        graph = _graph(rows, nodes, kinds)
        sets = [frozenset(node for node in each if isinstance(node, int)) for each in components(graph)]
        sets = [each for each in sets if len(each) > 1]
        simpler = [
            each for other, of_other in sets_by_anomaly.items() if LEVELS[other] < kinds for each in of_other
        ]
        sets_by_anomaly[anomaly] = sets
        if anomaly in anomalies:
            logs = {
                (row.source.op, row.target.op): (row.topic, row.partition)
                for row in rows
                if row.kind in kinds
            }
            new = [each for each in sets if not any(one <= each for one in simpler)]
            cycles[anomaly] = sorted((_cycle(each, graph, nodes, logs) for each in new), key=_order)
    return cycles


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
    members: Collection[int],
    graph: Graph,
    nodes: Mapping[int, Row],
    logs: Mapping[tuple[int, int], tuple[str, int]],
) -> Cycle:
    first = min(members, key=lambda op: (nodes[op].invoked, op))
    cycle = [node for node in shortest_cycle(graph, first) if isinstance(node, int)]
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
