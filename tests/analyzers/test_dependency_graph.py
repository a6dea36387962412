"""Dependencies of transactions as arrays, and the order in real time. Needs no JVM."""

from __future__ import annotations

from analyzers.judge.cycle_search import Moments, Transactions
from tests.analyzers.test_cycle_search import dependency, table, transaction

FIRST, SECOND, THIRD, OPEN = (
    transaction(9, 0, 5), transaction(3, 1, 6), transaction(7, 5, 6), transaction(4, 8, None, "info"),
)  # fmt: skip
ROWS = [
    dependency("ww", FIRST, THIRD, topic="b"),
    dependency("wr", FIRST, THIRD, topic="a"),
    dependency("wr", FIRST, SECOND),
    dependency("ww", THIRD, FIRST, topic="back"),
    dependency("rw", THIRD, SECOND),
    dependency("wr", OPEN, SECOND, topic="last"),
]


def test_transactions_are_numbered_in_the_order_of_their_ends_and_names() -> None:
    assert Transactions(table(ROWS)).ops == [9, 3, 7, 4]
    assert Transactions(table(ROWS[::-1])).ops == [9, 3, 7, 4]
    assert len(Transactions(table(ROWS))) == 4
    assert Transactions(table(ROWS)).invoked == [0, 1, 5, 8]


def test_dependencies_are_those_of_the_kinds_in_their_order() -> None:
    both = Transactions(table(ROWS)).dependencies({"ww", "wr"})
    assert [list(both.of(source)) for source in range(4)] == [[1, 2, 2], [], [0], [1]]
    assert [list(Transactions(table(ROWS)).dependencies({"rw"}).of(source)) for source in range(4)] == [
        [], [], [1], [],
    ]  # fmt: skip


def test_a_dependency_has_the_place_of_the_last_kind() -> None:
    both = Transactions(table(ROWS)).dependencies({"ww", "wr"})
    assert both.place(0, 2) == ("b", 0)
    assert both.place(0, 1) == ("t", 0)
    assert both.place(2, 0) == ("back", 0)
    assert both.place(3, 1) == ("last", 0)
    assert both.place(0, 0) is None
    assert both.place(0, 3) is None
    assert both.place(1, 2) is None, "that is where the dependencies before it lead"
    assert both.place(1, 0) is None
    assert both.place(2, 1) is None
    assert Transactions(table(ROWS)).dependencies({"rw"}).place(3, 1) is None


def test_acknowledged_ends_lead_to_what_begins_later() -> None:
    moments = Transactions(table(ROWS)).moments()
    assert [list(moments.after(node)) for node in range(4)] == [[4], [5], [6], []]
    # The third transaction begins at the very time of the first end; only the open one begins after the others.
    assert [list(moments.after(node)) for node in (4, 5, 6)] == [[5], [6], [3]]


def test_an_end_leads_to_what_begins_before_the_next_one() -> None:
    moments = Moments([30, 0, 12, 11, 1, 21], [(10, 1), (20, 4)])
    assert [list(moments.after(node)) for node in range(6)] == [[], [6], [], [], [7], []]
    assert [list(moments.after(node)) for node in (6, 7)] == [[3, 2, 7], [5, 0]]


def test_without_ends_there_are_no_moments() -> None:
    assert [list(Moments([0, 1], []).after(node)) for node in range(2)] == [[], []]
