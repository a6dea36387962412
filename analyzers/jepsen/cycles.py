"""Finds cycles among operations, and names them as Elle does.

Spark finds the dependencies that can be part of a cycle. Operations have a probable order, `at` (see
`workloads.history.jepsen.tables`), which agrees with real time. Every cycle has a dependency that goes back in this
order, and lies within a union of overlapping spans of such dependencies. The rest of the graph is not examined;
without a dependency that goes back there is no cycle. The driver then searches these parts.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.graph import components
from analyzers.jepsen.tables import VALUE, Tables

BLOCK = 1024
"""Positions in a block. Joining by block avoids comparing every span with every operation."""


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    edges: DataFrame
    """run, span, source, target (operations), kind (ww, wr), key, value, next, source_mop, target_mop, rank."""
    operations: DataFrame
    """run, span, pos, index, type, invoked: operations with a position inside a span."""
    spans: DataFrame
    """run, span, begin, end."""


def dependencies(tables: Tables, *, ww: bool) -> DataFrame:
    """All dependencies between different operations. Several between the same two differ in rank.

    wr: `source` sent what `target` polled. ww: `source` sent the value one place before one that `target` sent.
    """
    read = tables.records.where("call = 'poll' and writer is not null and writer.pos != pos").selectExpr(
        "run",
        "'wr' as kind",
        "writer.pos as source",
        "writer.at as source_at",
        "pos as target",
        "at as target_at",
        "key",
        "value",
        "cast(null as string) as next",
        "-writer.last as source_mop",
        "mop as target_mop",
        "seq as rank",
    )
    return read.union(_writes(tables)) if ww else read


def _writes(tables: Tables) -> DataFrame:
    writer = tables.values.where("writer is not null")
    order = tables.order.where("before is not null").select("run", "key", "place", "before")
    later = writer.where("place > 0").select(*VALUE, "place", F.col("writer").alias("target"))
    earlier = writer.selectExpr("run", "key", "value as before", "writer as source")
    pairs = later.join(order, ["run", "key", "place"]).join(earlier, ["run", "key", "before"])
    return pairs.where("source.pos != target.pos").selectExpr(
        "run",
        "'ww' as kind",
        "source.pos as source",
        "source.at as source_at",
        "target.pos as target",
        "target.at as target_at",
        "key",
        "before as value",
        "value as next",
        "-source.last as source_mop",
        "-target.last as target_mop",
        "cast(-target.last as bigint) as rank",
    )


def spans(edges: DataFrame) -> DataFrame:
    """Unions of overlapping spans of dependencies that go back: run, span, begin, end."""
    back = edges.where("target_at < source_at").groupBy("run", F.col("target_at").alias("begin"))
    line = Window.partitionBy("run").orderBy("begin")
    earlier = line.rowsBetween(Window.unboundedPreceding, -1)
    return (
        back.agg(F.max("source_at").alias("end"))
        .withColumn("reached", F.max("end").over(earlier))
        .withColumn("span", F.sum(F.expr("int(reached is null or reached < begin)")).over(line))
        .groupBy("run", "span")
        .agg(F.min("begin").alias("begin"), F.max("end").alias("end"))
    )


def parts_with_cycles(tables: Tables, edges: DataFrame, spans: DataFrame) -> Dependencies:
    """The part of the graph that can contain cycles."""
    blocks = spans.withColumn("block", F.expr(f"explode(sequence(begin div {BLOCK}, end div {BLOCK}))"))
    inside = (
        edges.withColumn("block", F.expr(f"source_at div {BLOCK}"))
        .join(blocks, ["run", "block"])
        .where("source_at between begin and end and target_at between begin and end")
    )
    operations = (
        tables.operations.where("f in ('send', 'poll', 'txn')")
        .withColumn("block", F.expr(f"at div {BLOCK}"))
        .join(blocks, ["run", "block"])
        .where("at between begin and end")
        .select("run", "span", "pos", "index", "type", "invoked")
    )
    columns = ["kind", "source", "target", "key", "value", "next", "source_mop", "target_mop", "rank"]
    return Dependencies(edges=inside.select("run", "span", *columns), operations=operations, spans=spans)


Graph = Mapping[int, Collection[int]]
"""Vertex to its successors. A vertex without successors need not be a key."""


def restricted(graph: Graph, vertices: Iterable[int]) -> dict[int, list[int]]:
    """The graph between some of its vertices."""
    kept = set(vertices)
    return {vertex: [after for after in graph.get(vertex, ()) if after in kept] for vertex in kept}


def short_cycle(graph: Graph, component: Sequence[int], *, steps: int) -> list[int]:
    """A cycle in a component; its first vertex is repeated at the end.

    Returns the shortest cycle through the vertices that were tried. They are tried in order until `steps` edges were
    visited. Every vertex of a component is on a cycle, so the first one gives a result.
    """
    inside = restricted(graph, component)
    best: list[int] | None = None
    for start in sorted(component):
        found, taken = _cycle_through(inside, start, None if best is None else len(best) - 1)
        if found is not None:
            best = found
        steps -= taken
        if best is not None and (steps <= 0 or len(best) == 3):
            break
    assert best is not None, f"no cycle in the component of {component[:8]}"
    return best


def _cycle_through(graph: Graph, start: int, shorter_than: int | None) -> tuple[list[int] | None, int]:
    before = {start: start}
    depth = {start: 0}
    queue = deque([start])
    taken = 0
    while queue:
        vertex = queue.popleft()
        if shorter_than is not None and depth[vertex] + 1 >= shorter_than:
            break
        for after in graph[vertex]:
            taken += 1
            if after == start:
                cycle = [start]
                while vertex != start:
                    cycle.append(vertex)
                    vertex = before[vertex]
                return [start, *reversed(cycle[1:]), start], taken
            if after not in before:
                before[after], depth[after] = vertex, depth[vertex] + 1
                queue.append(after)
    return None, taken


WW, WR, REALTIME = "ww", "wr", "realtime"
ORDER = (WW, WR, REALTIME)
"""If an operation depends on another in several ways, the first of these is reported."""

LEVELS = (
    ("PL-1-cycle-exists", "read-uncommitted", (WW,)),
    ("PL-2-cycle-exists", "read-committed", (WW, WR)),
    ("strong-PL-1-cycle-exists", "strong-read-uncommitted", (WW, REALTIME)),
    ("strong-PL-2-cycle-exists", "strong-read-committed", (WW, WR, REALTIME)),
)
"""Level, consistency model that it violates, and the dependencies that must not form a cycle."""

WEAKER = {
    "PL-1-cycle-exists": (),
    "PL-2-cycle-exists": ("PL-1-cycle-exists",),
    "strong-PL-1-cycle-exists": ("PL-1-cycle-exists",),
    "strong-PL-2-cycle-exists": ("PL-1-cycle-exists", "PL-2-cycle-exists", "strong-PL-1-cycle-exists"),
}
"""Weaker levels: if one of them is violated, the stronger level is not searched."""

STEPS = 1_000_000
"""Edges visited when looking for a shorter cycle, for each component and level."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    pos: int
    index: int
    type: str
    invoked: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    source: int
    target: int
    kind: str
    evidence: Mapping[str, Any]


def _components(graph: Graph) -> Iterator[list[int]]:
    return components(graph, lambda vertex: graph.get(vertex, ()))


def cycles(operations: Sequence[Operation], edges: Iterable[Edge]) -> Iterator[dict[str, Any]]:
    """Errors, each with its `type`: for every component of the graph, the weakest violated levels and a cycle for
    each.

    `edges` are data dependencies between `operations`. Of several of one kind between two operations, the first is
    used.
    """
    by_kind: dict[str, dict[int, dict[int, Edge]]] = {kind: defaultdict(dict) for kind in ORDER}
    for edge in edges:
        by_kind[edge.kind][edge.source].setdefault(edge.target, edge)
    for edge in realtime(operations):
        by_kind[REALTIME][edge.source][edge.target] = edge
    index = {operation.pos: operation.index for operation in operations}
    graphs = {kinds: _union(by_kind, kinds) for _, _, kinds in LEVELS}
    for component in _components(graphs[ORDER]):
        violated: set[str] = set()
        for level, model, kinds in LEVELS:
            if violated.intersection(WEAKER[level]):
                continue
            graph = restricted(graphs[kinds], component)
            smallest = min(_components(graph), key=len, default=None)
            if smallest is None:
                continue
            violated.add(level)
            yield {
                "type": level,
                "not": model,
                "subgraph": ["union", *(name for kind in kinds for name in _with_predicates(kind))],
                "scc-size": len(smallest),
                "scc": sorted(index[pos] for pos in smallest),
            }
            yield _described(short_cycle(graph, smallest, steps=STEPS), by_kind)


def realtime(operations: Sequence[Operation]) -> Iterator[Edge]:
    """An operation that completed before another began precedes it. Returns only edges that do not follow from
    others."""
    moments = [(operation.invoked, 0, operation) for operation in operations]
    moments += [(operation.pos, 1, operation) for operation in operations]
    done: set[int] = set()
    before: dict[int, frozenset[int]] = {}
    for _, ends, operation in sorted(moments, key=lambda moment: moment[:2]):
        if not ends:
            before[operation.pos] = frozenset(done)
            for source in sorted(done):
                evidence = {"a'": source, "b": operation.invoked}
                yield Edge(source=source, target=operation.pos, kind=REALTIME, evidence=evidence)
        elif operation.type == "ok":
            done -= before.pop(operation.pos, frozenset())
            done.add(operation.pos)
        else:
            before.pop(operation.pos, None)


def _union(by_kind: Mapping[str, Mapping[int, Mapping[int, Edge]]], kinds: Iterable[str]) -> Graph:
    graph: dict[int, set[int]] = defaultdict(set)
    for kind in kinds:
        for source, targets in by_kind[kind].items():
            graph[source].update(targets)
    return graph


def _with_predicates(kind: str) -> tuple[str, ...]:
    """The names of graphs in the reference include predicate dependencies, which Kafka does not have."""
    return (kind,) if kind == REALTIME else (kind, f"{kind}p")


def _described(
    cycle: Sequence[int], by_kind: Mapping[str, Mapping[int, Mapping[int, Edge]]]
) -> dict[str, Any]:
    steps = [_step(source, target, by_kind) for source, target in pairwise(cycle)]
    kinds = {step["type"] for step in steps}
    name = ("G1c" if WR in kinds else "G0") + ("-realtime" if REALTIME in kinds else "")
    return {"type": name, "cycle": list(cycle), "steps": steps}


def _step(
    source: int, target: int, by_kind: Mapping[str, Mapping[int, Mapping[int, Edge]]]
) -> dict[str, Any]:
    found = (by_kind[kind].get(source, {}).get(target) for kind in ORDER)
    edge = next(edge for edge in found if edge is not None)
    return {"type": edge.kind, **edge.evidence}


def evidence(
    *, kind: str, key: str, value: str, following: str | None, source_mop: int, target_mop: int
) -> dict[str, Any]:
    """The description of a data dependency."""
    fields: dict[str, Any] = {"key": json.loads(key), "value": json.loads(value)}
    if kind == WW and following is not None:
        fields["value'"] = json.loads(following)
    return fields | {"a-mop-index": source_mop, "b-mop-index": target_mop}
