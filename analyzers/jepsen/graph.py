"""Finds a short cycle in a part of a graph that fits into the driver's memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

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
