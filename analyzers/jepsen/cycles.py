"""Finds cycles among operations, and names them as Elle does."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from analyzers.graph import components
from analyzers.jepsen.graph import Graph, restricted, short_cycle

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
