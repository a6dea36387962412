"""Graphs as plain values: what reaches itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

Node = int | tuple[int]
"""An operation, or a moment, which is none."""

Graph = dict[Node, list[Node]]
"""Each node to those that follow it."""


def components(graph: Mapping[Node, Sequence[Node]]) -> Iterator[list[Node]]:
    """The strongly connected components (Tarjan), without recursion: chains are as long as histories."""
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_: set[Node] = set()
    stack: list[Node] = []
    for root in graph:
        if root in number:
            continue
        path = [(root, iter(graph[root]))]
        while path:
            node, rest = path[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
                open_.add(node)
            for following in rest:
                if following not in number:
                    path.append((following, iter(graph[following])))
                    break
                if following in open_:
                    low[node] = min(low[node], number[following])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == number[node]:
                    component = [stack.pop()]
                    while component[-1] != node:
                        component.append(stack.pop())
                    open_.difference_update(component)
                    yield component


def shortest_cycle(graph: Mapping[Node, Sequence[Node]], start: Node) -> list[Node]:
    """The nodes of a shortest cycle through `start`, beginning there. Raises ValueError where there is none."""
    before: dict[Node, Node] = {}
    line = [start]
    for node in line:
        for following in graph[node]:
            if following == start:
                cycle = [node]
                while cycle[-1] != start:
                    cycle.append(before[cycle[-1]])
                return cycle[::-1]
            if following not in before:
                before[following] = node
                line.append(following)
    raise ValueError(f"no cycle through {start!r}")
