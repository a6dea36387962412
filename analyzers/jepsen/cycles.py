"""Cycles among operations, named as Elle names them."""

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
"""Of two operations that depend on each other in several ways, the first of these is told."""

LEVELS = (
    ("PL-1-cycle-exists", "read-uncommitted", (WW,)),
    ("PL-2-cycle-exists", "read-committed", (WW, WR)),
    ("strong-PL-1-cycle-exists", "strong-read-uncommitted", (WW, REALTIME)),
    ("strong-PL-2-cycle-exists", "strong-read-committed", (WW, WR, REALTIME)),
)
"""What is to be without cycles for which consistency model."""

WEAKER = {
    "PL-1-cycle-exists": (),
    "PL-2-cycle-exists": ("PL-1-cycle-exists",),
    "strong-PL-1-cycle-exists": ("PL-1-cycle-exists",),
    "strong-PL-2-cycle-exists": ("PL-1-cycle-exists", "PL-2-cycle-exists", "strong-PL-1-cycle-exists"),
}
"""A level is not looked at where a weaker one is broken already."""

STEPS = 1_000_000
"""Edges looked at to find a shorter cycle, for each component and level."""


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


def cycles(operations: Sequence[Operation], edges: Iterable[Edge]) -> Iterator[dict[str, Any]]:
    """Errors, each with its `type`: for every component of the graph, the weakest levels that it breaks, and a cycle
    for each. `edges` are data dependencies between `operations`; of several of a kind between the same two, the first
    is told."""
    by_kind: dict[str, dict[int, dict[int, Edge]]] = {kind: defaultdict(dict) for kind in ORDER}
    for edge in edges:
        by_kind[edge.kind][edge.source].setdefault(edge.target, edge)
    for edge in realtime(operations):
        by_kind[REALTIME][edge.source][edge.target] = edge
    index = {operation.pos: operation.index for operation in operations}
    graphs = {kinds: _union(by_kind, kinds) for _, _, kinds in LEVELS}
    for component in components(graphs[ORDER]):
        broken: set[str] = set()
        for level, model, kinds in LEVELS:
            if broken.intersection(WEAKER[level]):
                continue
            graph = restricted(graphs[kinds], component)
            smallest = min(components(graph), key=len, default=None)
            if smallest is None:
                continue
            broken.add(level)
            yield {
                "type": level,
                "not": model,
                "subgraph": ["union", *(name for kind in kinds for name in _with_predicates(kind))],
                "scc-size": len(smallest),
                "scc": sorted(index[pos] for pos in smallest),
            }
            yield _told(short_cycle(graph, smallest, steps=STEPS), by_kind)


def realtime(operations: Sequence[Operation]) -> Iterator[Edge]:
    """An operation that was done before another began comes before it. Only what does not follow from others."""
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
    """The reference's graphs have dependencies by predicates as well, of which Kafka has none."""
    return (kind,) if kind == REALTIME else (kind, f"{kind}p")


def _told(cycle: Sequence[int], by_kind: Mapping[str, Mapping[int, Mapping[int, Edge]]]) -> dict[str, Any]:
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
    """What is told of a data dependency."""
    told: dict[str, Any] = {"key": json.loads(key), "value": json.loads(value)}
    if kind == WW and following is not None:
        told["value'"] = json.loads(following)
    return told | {"a-mop-index": source_mop, "b-mop-index": target_mop}
