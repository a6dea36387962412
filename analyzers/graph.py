"""Strongly connected components and shortest cycles of graphs whose nodes know their successors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def components(nodes: Iterable[N], successors: Callable[[N], Iterable[N]]) -> Iterator[list[N]]:
    """The strongly connected components with two or more nodes, by Tarjan's algorithm.

    nodes  those from which all others are reached.

    Not recursive: a path may be as long as a history, which exceeds Python's recursion limit.
    """
    number: dict[N, int] = {}
    low: dict[N, int] = {}
    open_: set[N] = set()
    stack: list[N] = []
    for root in nodes:
        if root in number:
            continue
        path = [(root, iter(successors(root)))]
        while path:
            node, rest = path[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
                open_.add(node)
            for following in rest:
                if following not in number:
                    path.append((following, iter(successors(following))))
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
                    if len(component) > 1:
                        yield component


def shortest_cycle(successors: Callable[[N], Iterable[N]], start: N, within: Collection[N]) -> list[N]:
    """The nodes of a shortest cycle through `start`, beginning with it. Raises ValueError if there is none.

    within  the strongly connected component of `start`. Without it, the search would go on to the graph's end.
    """
    predecessors: dict[N, N] = {}
    queue = [start]
    for node in queue:
        for following in successors(node):
            if following == start:
                cycle = [node]
                while cycle[-1] != start:
                    cycle.append(predecessors[cycle[-1]])
                return cycle[::-1]
            if following in within and following not in predecessors:
                predecessors[following] = node
                queue.append(following)
    raise ValueError(f"no cycle through {start!r}")
