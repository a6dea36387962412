"""What all faults together want of a node's resources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.effects.reconciler import Reconciler, Resource


class Book(dict):
    """What every node was last given of each resource; nodes in `broken` refuse."""

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
def test_a_node_has_what_the_living_wishes_come_to_after_every_step(steps) -> None:
    book = Book()
    kinds = {"low": book.resource("low", min), "high": book.resource("high", max)}
    desired, alive = Reconciler({1: 1, 2: 2}), {}  # type: ignore[dict-item]
    for owner, node, name, value in steps:
        if value is None:
            desired.release(owner, node, kinds[name])
            alive.pop((owner, node, name), None)
        else:
            desired.want(owner, node, kinds[name], value)
            alive[owner, node, name] = value
        for (kind, where), given_ in book.items():
            wishes = [wish for (_, n, k), wish in alive.items() if (k, n) == (kind, where)]
            assert given_ == (kinds[kind].combine(wishes) if wishes else None)
            assert desired.now(kinds[kind], where) == given_
        assert desired.owners == {owner for owner, _, _ in alive}
    desired.heal_all()
    assert set(book.values()) <= {None}
    assert desired.owners == frozenset()


def test_who_wants_nothing_gives_nothing_back() -> None:
    book = Book()
    Reconciler({1: 1}).release("a", 1, book.resource("low", min))  # type: ignore[dict-item]
    assert book == {}


def test_a_wish_that_could_not_be_granted_stands_until_it_is_released() -> None:
    book = Book()
    low, desired = book.resource("low", min), Reconciler({1: 1})  # type: ignore[dict-item]
    book.broken = {1}
    with pytest.raises(OSError, match="node 1 refuses"):
        desired.want("a", 1, low, 3)
    assert desired.now(low, 1) == 3
    with pytest.raises(OSError, match="node 1 refuses"):
        desired.release("a", 1, low)
    assert desired.owners == frozenset()


def test_heal_all_tries_all_and_tells_of_each_that_failed() -> None:
    book = Book()
    low, high = book.resource("low", min), book.resource("high", max)
    desired = Reconciler({node: node for node in (1, 2, 3)})  # type: ignore[misc]
    for node in (1, 2, 3):
        desired.want("a", node, low, 5)
        desired.want("b", node, high, 5)
    book.broken = {1, 3}
    with pytest.raises(ExceptionGroup) as failed:
        desired.heal_all()
    assert len(failed.value.exceptions) == 4
    assert {note for each in failed.value.exceptions for note in each.__notes__} == {
        f"while giving node {node} back its {name}" for node in (1, 3) for name in ("low", "high")
    }
    assert (book["low", 2], book["high", 2]) == (None, None)
    book.broken = set()
    desired.heal_all()
    assert set(book.values()) == {None}


def test_a_node_that_is_gone_needs_nothing_back() -> None:
    book, nodes = Book(), {1: 1, 2: 2}
    desired, low = Reconciler(nodes), book.resource("low", min)  # type: ignore[arg-type]
    desired.want("a", 1, low, 5)
    desired.want("a", 2, low, 5)
    del nodes[1]
    desired.heal_all()
    assert book["low", 2] is None
