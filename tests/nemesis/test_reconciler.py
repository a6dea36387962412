"""The reconciler gives each node what all wishes for a resource together require."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.effects.reconciler import Reconciler, Resource


class Applied(dict):
    """The value that was applied last, by resource and node. Nodes in `broken` refuse every value."""

    def __init__(self) -> None:
        self.broken: set[int] = set()

    def resource(self, name: str, combine) -> Resource:
        def apply(node: int, value: object) -> None:
            if node in self.broken:
                raise OSError(f"node {node} refuses")
            self[name, node] = value

        return Resource(name, combine, apply)


STEPS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from([1, 2]),
        st.sampled_from(["low", "high"]),
        st.none() | st.integers(1, 9),
    ),
    max_size=30,
)


@given(STEPS)
def test_every_step_applies_the_combination_of_the_wishes_that_stand(steps) -> None:
    applied = Applied()
    kinds = {"low": applied.resource("low", min), "high": applied.resource("high", max)}
    reconciler, standing = Reconciler({1: 1, 2: 2}), {}  # type: ignore[dict-item]
    for owner, node, name, value in steps:
        if value is None:
            reconciler.release(owner, node, kinds[name])
            standing.pop((owner, node, name), None)
        else:
            reconciler.want(owner, node, kinds[name], value)
            standing[owner, node, name] = value
        for (kind, where), value_ in applied.items():
            wishes = [wish for (_, n, k), wish in standing.items() if (k, n) == (kind, where)]
            assert value_ == (kinds[kind].combine(wishes) if wishes else None)
            assert reconciler.wanted(kinds[kind], where) == value_
        assert reconciler.owners == {owner for owner, _, _ in standing}
    reconciler.heal_all()
    assert set(applied.values()) <= {None}
    assert reconciler.owners == frozenset()


def test_a_release_without_a_wish_applies_nothing() -> None:
    applied = Applied()
    Reconciler({1: 1}).release("a", 1, applied.resource("low", min))  # type: ignore[dict-item]
    assert applied == {}


def test_a_wish_that_could_not_be_applied_stands_until_it_is_released() -> None:
    applied = Applied()
    low, reconciler = applied.resource("low", min), Reconciler({1: 1})  # type: ignore[dict-item]
    applied.broken = {1}
    with pytest.raises(OSError, match="node 1 refuses"):
        reconciler.want("a", 1, low, 3)
    assert reconciler.wanted(low, 1) == 3
    with pytest.raises(OSError, match="node 1 refuses"):
        reconciler.release("a", 1, low)
    assert reconciler.owners == frozenset()


def test_heal_all_tries_every_node_and_names_each_failure() -> None:
    applied = Applied()
    low, high = applied.resource("low", min), applied.resource("high", max)
    reconciler = Reconciler({node: node for node in (1, 2, 3)})  # type: ignore[misc]
    for node in (1, 2, 3):
        reconciler.want("a", node, low, 5)
        reconciler.want("b", node, high, 5)
    applied.broken = {1, 3}
    with pytest.raises(ExceptionGroup) as failed:
        reconciler.heal_all()
    assert len(failed.value.exceptions) == 4
    assert {note for each in failed.value.exceptions for note in each.__notes__} == {
        f"while restoring the {name} of node {node}" for node in (1, 3) for name in ("low", "high")
    }
    assert (applied["low", 2], applied["high", 2]) == (None, None)
    applied.broken = set()
    reconciler.heal_all()
    assert set(applied.values()) == {None}


def test_a_removed_node_is_not_restored() -> None:
    applied, nodes = Applied(), {1: 1, 2: 2}
    reconciler, low = Reconciler(nodes), applied.resource("low", min)  # type: ignore[arg-type]
    reconciler.want("a", 1, low, 5)
    reconciler.want("a", 2, low, 5)
    del nodes[1]
    reconciler.heal_all()
    assert applied["low", 2] is None
