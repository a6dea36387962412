"""Facts that are narrowed down to what may break a promise find the same as without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS
from analyzers.facts.fact import POLLED
from analyzers.facts.members import poll_spans
from analyzers.history.load import History
from analyzers.history.shared_tables import SharedTables
from analyzers.judge import narrow, narrow_coordinated, narrow_queues
from analyzers.judge.find import Found
from analyzers.judge.narrow import SUSPICIONS, suspicious_records, suspicious_transactions
from tests.support.narrowed import found
from tests.support.random_histories.coordinators import coordinator_history
from tests.support.random_histories.copies import copy_history
from tests.support.random_histories.groups import group_history
from tests.support.random_histories.logs import draw_histories
from tests.support.random_histories.transactions import transaction_history
from tests.support.repetitions import repetitions
from tests.support.stories.planted import PLANTED
from tests.support.stories.transactions import ONE, READ, txn

pytestmark = pytest.mark.spark

NARROWED = [check for check in CHECKS if check.over in {*narrow.OFFSETS, *narrow.PARTS}]

HISTORIES = repetitions(150, shorter=25)


@pytest.fixture(scope="module")
def history(story: Any, loaded: Any) -> History:
    """Planted and random histories together."""
    stories = {make.__name__: make(story()) for make in PLANTED}
    for name, strategy in (
        ("copy", copy_history),
        ("group", group_history),
        ("txn", transaction_history),
        ("coordinator", coordinator_history),
    ):
        drawings = draw_histories(strategy(story), HISTORIES)
        stories |= {f"{name}-{run}": one for run, one in drawings.items()}
    result: History = loaded(stories)
    return result


@pytest.fixture(scope="module")
def everything(history: History) -> list[Found]:
    each = found(history, NARROWED, narrowed=False)
    assert {one.anomaly for one in each} == {check.name for check in NARROWED}
    return each


# By day, test_planted.py and test_oracles.py find the same in one piece.
@pytest.mark.parametrize(
    "in_one_piece",
    [pytest.param(True, marks=pytest.mark.nightly), False],
    ids=["computed again", "shared tables"],
)
def test_narrowed_facts_find_the_same(history: History, everything: list[Found], in_one_piece: bool) -> None:
    assert found(replace(history, in_one_piece=in_one_piece), NARROWED, narrowed=True) == everything


WHOLE = [(module, "MANY") for module in (narrow, narrow, narrow, narrow_coordinated)]
NEAR = [(narrow, "OFFSETS_EACH"), (narrow, "MANY_VALUES"), (narrow_coordinated, "MANY_NAMES")]


@pytest.mark.nightly
@pytest.mark.parametrize("limits", [WHOLE, NEAR], ids=["too many suspects", "too many to be listed"])
def test_the_same_is_found_above_each_limit(
    history: History, everything: list[Found], monkeypatch: pytest.MonkeyPatch, limits: list[tuple[Any, str]]
) -> None:
    for module, limit in limits:
        monkeypatch.setattr(module, limit, 0)
    assert found(history, NARROWED, narrowed=True) == everything


@pytest.mark.parametrize("check", NARROWED, ids=lambda check: check.name)
def test_each_fact_is_narrowed_down(history: History, everything: list[Found], check: Check) -> None:
    guilty = min(one.run for one in everything if one.anomaly == check.name)
    part = narrow.narrow(history.of_runs({guilty}), check.over)
    assert part is not None
    if check.over not in {*narrow_coordinated.PARTS, *narrow_queues.PARTS}:
        assert (part.offset_filter, part.value_filter) != ("true", "true")
    assert narrow.narrow(history.of_runs({"no such run"}), check.over) is None


def test_tables_that_facts_share_are_those_of_the_whole_history(history: History) -> None:
    """Also if a fact about some runs needs them first."""
    shared = replace(history, in_one_piece=False, shared=SharedTables(history.sql))
    some = shared.of_runs({min(row.run for row in history.records.select("run").distinct().collect())})
    runs = {row.run for row in poll_spans(some).select("run").distinct().collect()}
    assert runs == {row.run for row in poll_spans(history).select("run").distinct().collect()}
    assert len(runs) > 1


def test_most_runs_are_ruled_out(history: History, everything: list[Found]) -> None:
    suspected = {row.run for row in suspicious_transactions(history).collect()}
    guilty = {one.run for one in everything if one.anomaly in SUSPICIONS}
    transactional = {
        row.run for row in history.operations.where("f = 'txn'").select("run").distinct().collect()
    }
    assert guilty <= suspected
    assert len(suspected - guilty) < len(transactional - guilty) / 2


TOO_NARROW = {
    "torn-transaction": ["saw & missed & 1 <> 0", "false"],
    "precommitted-read": ["first_read < ending or is_own", "(unended and saw <> 0) or is_own",
                          "first_read < ending or (unended and saw <> 0)"],
    "zombie-write": ["last_sent > fenced + 1000000", "false"],
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "condition"), [(name, each) for name, some in TOO_NARROW.items() for each in some]
)
def test_no_condition_can_be_narrower(
    history: History, everything: list[Found], name: str, condition: str
) -> None:
    guilty = {one.run for one in everything if one.anomaly == name}
    suspected = {row.run for row in suspicious_transactions(history, {name: SUSPICIONS[name]}).collect()}
    assert guilty <= suspected
    assert not guilty <= {row.run for row in suspicious_transactions(history, {name: condition}).collect()}


TOO_SURE = {
    "lost-copy": [
        ("not bool_or(coalesce(is_sure, false)) or ", ""),
        ("f = 'send' or committed as is_sure", "true as is_sure"),
        ("offset < position", "offset < position - 1"),
    ],
    "duplicate-copy": [
        (" or min(copy) < max(copy)", ""),
        (f"f = 'send' and type = 'ok' or {POLLED}", "f = 'send' and type = 'ok'"),
    ],
}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "before", "after"), [(name, *each) for name, some in TOO_SURE.items() for each in some]
)
def test_no_copy_can_be_surer(
    history: History,
    everything: list[Found],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    before: str,
    after: str,
) -> None:
    guilty = {one.run for one in everything if one.anomaly == name}
    assert guilty <= {row.run for row in suspicious_records(history).collect()}
    statement = narrow._COPIES
    assert before in statement
    monkeypatch.setattr(narrow, "_COPIES", statement.replace(before, after))
    assert not guilty <= {row.run for row in suspicious_records(history).collect()}


def two_readers(s: Any, *, first: int, second: int, at: int = 1) -> Any:
    """The first reader missed the second record of a transaction, and both passed it."""
    s.send(ONE, 0, transaction=500).send(ONE + 1, 1, transaction=500)
    txn(s, 500, (1, 9))
    s.send(ONE + 2, 2)
    for process in (first, second):
        s.poll(ONE, 0, process=process, **READ)
        if process == second:
            s.poll(ONE + 1, at, process=process, **READ)
        s.poll(ONE + 2, 2, process=process, **READ)
    return s


@pytest.mark.parametrize(
    ("second", "at"),
    [(21, 1), (20 + 64, 1), (20 + 64, 5_000)],
    ids=["two bits", "one bit", "at another offset"],
)
def test_readers_that_share_a_bit_hide_nothing(story: Any, loaded: Any, second: int, at: int) -> None:
    torn = loaded({"r": two_readers(story(), first=20, second=second, at=at)})
    assert [row.transaction for row in suspicious_transactions(torn).collect()] == [500]
    assert "torn-transaction" in {one.anomaly for one in found(torn, NARROWED, narrowed=True)}
    whole = loaded({"r": two_readers(story(), first=second, second=second)})
    assert suspicious_transactions(whole).collect() == []


@pytest.mark.parametrize(
    ("ranges", "at_most", "expected"),
    [
        ([], 3, []),
        ([(5, 9), (1, 2)], 2, [(1, 2), (5, 9)]),
        ([(1, 2), (3, 4), (4, 8), (5, 6)], 9, [(1, 8)]),
        ([(1, 2), (10, 11), (13, 14), (30, 30)], 3, [(1, 2), (10, 14), (30, 30)]),
        ([(1, 2), (10, 11), (13, 14), (30, 30)], 2, [(1, 14), (30, 30)]),
        ([(1, 2), (10, 11), (13, 14), (30, 30)], 1, [(1, 30)]),
    ],
)
def test_ranges_are_joined_where_they_are_closest(ranges: Any, at_most: int, expected: Any) -> None:
    assert narrow.joined(ranges, at_most=at_most) == expected


def test_few_offsets_are_listed_and_many_are_ranges() -> None:
    assert narrow.offset_filter([(7, 8), (1, 1)]) == "offset in (1L, 7L, 8L)"
    assert narrow.offset_filter([(0, 5_000), (9_000, 9_001)]) == (
        "(offset between 0 and 5000 or offset between 9000 and 9001)"
    )
