"""Components and cycles of graphs. Needs no JVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from analyzers.graph import components, shortest_cycle


def of(graph: Mapping[int, list[int]]) -> Callable[[int], list[int]]:
    return lambda node: graph.get(node, [])


def test_nodes_that_reach_each_other_form_a_component() -> None:
    graph: dict[int, list[int]] = {1: [2], 2: [3], 3: [1, 4], 4: [5], 5: [4]}
    assert {frozenset(each) for each in components(graph, of(graph))} == {
        frozenset({1, 2, 3}),
        frozenset({4, 5}),
    }


def test_a_path_may_be_longer_than_the_recursion_limit() -> None:
    length = 50_000
    chain: dict[int, list[int]] = {number: [number + 1] for number in range(length)} | {length: []}
    assert list(components(chain, of(chain))) == []
    chain[length] = [0]
    (whole,) = components(chain, of(chain))
    assert len(whole) == length + 1


def test_the_shortest_cycle_is_found() -> None:
    graph: dict[int, list[int]] = {1: [2, 3], 2: [1], 3: [4], 4: [1], 5: []}
    assert shortest_cycle(of(graph), 1, graph) == [1, 2]
    assert shortest_cycle(of(graph), 3, graph) == [3, 4, 1]
    with pytest.raises(ValueError, match="no cycle through 5"):
        shortest_cycle(of(graph), 5, graph)


def test_an_edge_into_an_earlier_component_joins_nothing() -> None:
    graph = {1: [2], 2: [1], 3: [1, 4], 4: [3]}
    assert [sorted(each) for each in components(graph, of(graph))] == [[1, 2], [3, 4]]
