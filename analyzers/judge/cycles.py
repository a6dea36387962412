"""Circles of transactions that depend on one another: the one check that is not a condition on rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analyzers.catalogue.registry import CYCLE_CHECKS
from analyzers.facts.dependencies import circles
from analyzers.graph import components, shortest_cycle
from analyzers.history.load import History
from analyzers.judge.find import Found

Node = int | tuple[int]
"""An operation, or a moment, which is none."""

Graph = dict[Node, list[Node]]

EDGES = 200_000
"""So many dependencies of one run are searched, on the driver: some 100 MB and a few seconds."""

LEVELS: Mapping[str, frozenset[str]] = {
    check.name: check.edges
    for check in sorted(CYCLE_CHECKS, key=lambda check: (len(check.edges), check.name))
}
"""Anomaly to the kinds of edges it is made of, fewer kinds before more."""

JUDGED = ("wr",)
"""Without the order of writes, which Kafka does not promise, a cycle breaks a promise."""

SEARCHES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (JUDGED, tuple(name for name, edges in LEVELS.items() if "ww" not in edges)),
    (("wr", "ww"), tuple(name for name, edges in LEVELS.items() if "ww" in edges)),
)
"""Kinds of dependencies, and the anomalies that are looked for among them; realtime needs no row."""

CYCLES = tuple(name for _, names in SEARCHES for name in names)


@dataclass(frozen=True, kw_only=True)
class Circle:
    """A set of transactions that reach one another. `example`: as it is shown; `cycle`: the operations of a shortest
    cycle in it, from its first transaction on."""

    example: Mapping[str, int | str | None]
    cycle: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Unsearched:
    run: str | None
    """None: all of them."""
    sentence: str
    judged: bool
    """Whether a promise was left unchecked, or only what is a note."""


def find_cycles(
    history: History, *, examples: int, edges: int = EDGES
) -> tuple[list[Found], list[Unsearched]]:
    """The circles of every run with transactions, and which runs had too many dependencies to be searched."""
    found: list[Found] = []
    unsearched: list[Unsearched] = []
    for kinds, levels in SEARCHES:
        for run, rows in _collect(circles(history, kinds), edges).items():
            if len(rows) > edges:
                judged = kinds == JUDGED
                unsearched.append(Unsearched(run=run, judged=judged, sentence=_sentence(levels, edges)))
            else:
                found += _found(run, rows, levels, examples)
    return found, unsearched


def find_cycle(history: History, anomaly: str, number: int, *, edges: int = EDGES) -> tuple[int, ...]:
    """The transactions of the cycle that stands for a finding (from 1), in a history of one run.

    Raises IndexError where there is no such finding, also because there is too much to search.
    """
    for kinds, levels in SEARCHES:
        if anomaly in levels:
            for rows in _collect(circles(history, kinds), edges).values():
                if len(rows) <= edges:
                    return _circles(rows, levels)[anomaly][number - 1].cycle
    raise IndexError(f"{anomaly}/{number}: no such circle")


def _sentence(levels: Sequence[str], edges: int) -> str:
    return (
        f"Circles of transactions ({', '.join(levels)}) were not searched: more than {edges:,} dependencies go "
        f"against the order in which their transactions ended, or lie among such."
    )


def _collect(found: DataFrame, edges: int) -> dict[str, list[Row]]:
    """By run; one more than so many where there are more."""
    first = Window.partitionBy("run").orderBy("source", "target", "kind")
    rows: dict[str, list[Row]] = {}
    for row in found.withColumn("n", F.row_number().over(first)).where(f"n <= {edges} + 1").collect():
        rows.setdefault(row.run, []).append(row)
    # Of several shortest cycles the same one each time.
    return {
        run: sorted(some, key=lambda row: (row.source, row.target, row.kind)) for run, some in rows.items()
    }


def _found(run: str, rows: Sequence[Row], levels: Sequence[str], examples: int) -> Iterator[Found]:
    for level, new in _circles(rows, levels).items():
        if new:
            shown = tuple(each.example for each in new[:examples])
            yield Found(run=run, anomaly=level, count=len(new), examples=shown)


def _circles(rows: Sequence[Row], levels: Sequence[str]) -> dict[str, list[Circle]]:
    """Of each level its sets that hold none of a level with fewer kinds, in order of time."""
    nodes = {end.op: end for row in rows for end in (row.source, row.target)}
    found: dict[str, list[Circle]] = {}
    smaller: dict[str, list[frozenset[int]]] = {}
    for level, kinds in LEVELS.items():
        graph = _graph(rows, nodes, kinds)
        below = [one for other, sets in smaller.items() if LEVELS[other] < kinds for one in sets]
        sets = [frozenset(op for op in each if isinstance(op, int)) for each in components(graph)]
        sets = [each for each in sets if len(each) > 1]
        smaller[level] = sets
        if level in levels:
            places = {
                (row.source.op, row.target.op): (row.topic, row.partition)
                for row in rows
                if row.kind in kinds
            }
            new = [each for each in sets if not any(one <= each for one in below)]
            found[level] = sorted((_circle(each, graph, nodes, places) for each in new), key=_order)
    return found


def _order(circle: Circle) -> tuple[int, int]:
    time, op = circle.example["time"], circle.example["transaction"]
    assert isinstance(time, int)
    assert isinstance(op, int)
    return time, op


def _graph(rows: Sequence[Row], nodes: Mapping[int, Row], kinds: Collection[str]) -> Graph:
    """Operations, and with the order of time a line of moments: an end leads into it, a beginning out of it."""
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
    for number, (_, ended, op) in enumerate(sorted(ends + begins)):
        if ended:
            graph[number,] = []
            graph[op].append((number,))
            if moment is not None:
                graph[moment].append((number,))
            moment = (number,)
        elif moment is not None:
            graph[moment].append(op)
    return graph


def _circle(
    members: Collection[int],
    graph: Graph,
    nodes: Mapping[int, Row],
    places: Mapping[tuple[int, int], tuple[str, int]],
) -> Circle:
    first = min(members, key=lambda op: (nodes[op].invoked, op))
    cycle = [node for node in shortest_cycle(graph, first) if isinstance(node, int)]
    pairs = zip(cycle, [*cycle[1:], first], strict=True)
    topic, partition = next((places[pair] for pair in pairs if pair in places), (None, None))
    example = {
        "topic": topic,
        "partition": partition,
        "time": nodes[first].invoked,
        "transaction": first,
        "other": cycle[1],
        "length": len(cycle),
        "size": len(members),
    }
    return Circle(example=example, cycle=tuple(cycle))
