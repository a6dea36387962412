"""Facts about share groups are computed only from what happened at offsets at which a promise may be broken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from analyzers.catalogue.registry import CHECKS
from analyzers.history.load import History
from analyzers.history.shared_tables import SharedTables
from analyzers.judge import narrow_queues
from analyzers.judge.narrow import narrow
from analyzers.judge.narrow_queues import FINAL, FIRST, FLAT, PARTS, SUSPICIONS, suspects
from tests.support.narrowed import found
from tests.support.random_histories.logs import draw_histories
from tests.support.random_histories.queues import queue_history
from tests.support.stories import queue_exclusions
from tests.support.stories import queues as stories
from tests.support.stories.queues import ended, fed, got, said, took

pytestmark = pytest.mark.spark

PLANTED = (*stories.PLANTED, *queue_exclusions.PLANTED)

OF_QUEUES = [check for check in CHECKS if check.over in PARTS]


def held_by_three_that_count_alike(s: Any) -> Any:
    for op in range(3):
        said(
            got(s, 3, 200 + op, (20 + op, 30 + op), process=5 + op), 3, 200 + op, at=(40, 50), process=5 + op
        )
    return ended(took(fed(s), 0, 1, 2))


def limit_of_none(s: Any) -> Any:
    return ended(took(fed(s), 0, 1, 2, 3), limit=0)


def far_offsets(s: Any, offsets: Sequence[int] = (63, 64, 127, (1 << 40) + 63), taken: int = 2) -> Any:
    """Beyond many blocks, and as the last ones of blocks. The second and the third one are accepted."""
    for offset in offsets:
        s.send(stories.ONE + offset, offset, at=(1, 2))
    s.final({offset: stories.ONE + offset for offset in offsets}, end=max(offsets) + 1)
    return ended(took(s, *offsets[1 : 1 + taken]), max(offsets) + 1)


def offsets_of_one_block(s: Any) -> Any:
    """The first one is not accepted, and 32 below the second one."""
    return far_offsets(s, (95, 127), taken=1)


MORE = (held_by_three_that_count_alike, limit_of_none, far_offsets, offsets_of_one_block)


@pytest.fixture(scope="module")
def history(story: Any, loaded: Any) -> History:
    each = {make.__name__: make(story()) for make in (*PLANTED, *MORE)}
    result: History = loaded(each | draw_histories(queue_history(story), 200))
    return result


@pytest.fixture(scope="module")
def guilty(history: History) -> dict[str, set[str]]:
    """Runs by fact."""
    each = found(history, OF_QUEUES, narrowed=False)
    assert {one.anomaly for one in each} == {check.name for check in OF_QUEUES}
    for in_one_piece in (True, False):
        assert found(replace(history, in_one_piece=in_one_piece), OF_QUEUES, narrowed=True) == each
    by_name = {check.name: check.over for check in OF_QUEUES}
    return {fact: {one.run for one in each if by_name[one.anomaly] == fact} for fact in PARTS}


def suspected(history: History, statement: str, fact: str) -> set[str]:
    return {row.run for row in history.sql(statement).collect() if row.fact == fact and row.word is None}


CONDITIONS = {
    "queued": [("~(claimed & ~unclaimed)", "~claimed")],
    "deliveries": [
        ("delivered & ~odd, delivered)", "0, delivered)"),
        ("delivered & ~odd, delivered)", "delivered & ~odd, delivered & ~odd)"),
        (" | later", ""),
        ("delivery_limit < 1", "false"),
    ],
}


@pytest.mark.parametrize(
    ("fact", "before", "after"), [(fact, *each) for fact, some in CONDITIONS.items() for each in some]
)
def test_no_condition_can_be_narrower(
    history: History, guilty: dict[str, set[str]], fact: str, before: str, after: str
) -> None:
    condition = SUSPICIONS[fact]
    assert before in condition
    assert guilty[fact] <= suspected(history, suspects({fact: condition}), fact)
    narrower = suspects({fact: condition.replace(before, after)})
    assert not guilty[fact] <= suspected(history, narrower, fact)


STEPS = [
    ("queued", FINAL, "true"),
    ("queued", "offset & 63", "offset & 31"),
    ("queued", "if(not is_delivery and is_failed, bit, 0)", "0L"),
    ("deliveries", FIRST, "true"),
    ("deliveries", "not coalesce(is_usual, false)", "false"),
]  # fmt: skip


@pytest.mark.parametrize(("fact", "before", "after"), STEPS)
def test_no_step_can_be_surer(
    history: History, guilty: dict[str, set[str]], fact: str, before: str, after: str
) -> None:
    statement = suspects()
    assert before in statement
    assert guilty[fact] <= suspected(history, statement, fact)
    assert not guilty[fact] <= suspected(history, statement.replace(before, after), fact)


HEALTHY = [stories.each_is_accepted, stories.rejected, stories.accepted_without_an_answer]


@pytest.mark.parametrize("fact", PARTS)
def test_a_healthy_history_needs_no_facts(story: Any, loaded: Any, fact: str) -> None:
    assert narrow(loaded({make.__name__: make(story()) for make in HEALTHY}), fact) is None


@pytest.mark.parametrize("fact", PARTS)
def test_only_what_happened_at_suspicious_offsets_is_left(story: Any, loaded: Any, fact: str) -> None:
    one = {"r": stories.again(story(), "release", count=1), "s": stories.each_is_accepted(story())}
    ended(took(one["r"], 0, group="p"), group="p")
    part = narrow(loaded(one), fact)
    assert part is not None
    events = part.operations.where("f in ('delivery', 'acknowledgement')").collect()
    # Of group p, the offsets 1 to 3 were never claimed; of q, 3 was delivered twice.
    offsets = {1, 2, 3} if fact == "queued" else {3}
    assert {(row.run, row.start_offset) for row in events} == {("r", offset) for offset in offsets}
    assert part.operations.where("f = 'queue'").count() == 1
    records = {row.offset for row in part.records.where("final").collect()}
    assert records == (offsets if fact == "queued" else {0, 1, 2, 3})


def with_texts(s: Any, write: Any) -> Any:
    for row in s.operations:
        if row["f"] in ("delivery", "acknowledgement"):
            row["value"] = write(json.loads(row["value"]))
    return s


TEXTS = {
    "without spaces": lambda value: json.dumps(value, separators=(",", ":")),
    "sorted": lambda value: json.dumps(value, sort_keys=True),
    "another object within": lambda value: json.dumps(
        {"before": {"kind": "accept", "deliveries": 1}, **value, "after": {"kind": "reject", "deliveries": 1}}
    ),
    "text within": lambda value: json.dumps({"said": '"kind": "accept", "deliveries": 1,', **value}),
}


@pytest.mark.parametrize("text", TEXTS)
def test_other_texts_hide_nothing(story: Any, loaded: Any, text: str) -> None:
    each = {make.__name__: with_texts(make(story()), TEXTS[text]) for make in PLANTED}
    one = loaded(each | {"only_released": with_texts(stories.only_released(story()), TEXTS[text])})
    narrowed = found(one, OF_QUEUES, narrowed=True)
    assert {each.anomaly for each in narrowed} == {check.name for check in OF_QUEUES}
    assert narrowed == found(one, OF_QUEUES, narrowed=False)


def test_a_name_within_another_object_says_nothing(story: Any, loaded: Any) -> None:
    one = loaded({"r": with_texts(stories.only_released(story()), TEXTS["another object within"])})
    assert suspected(one, suspects(), "queued") == {"r"}
    assert suspected(one, suspects().replace(FLAT, "true"), "queued") == set()


@pytest.mark.parametrize(("limit", "value"), [("WORDS", 1), ("MANY_VALUES", 0)])
def test_the_same_is_found_beyond_each_limit(
    history: History, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    expected = found(history, OF_QUEUES, narrowed=True)
    monkeypatch.setattr(narrow_queues, limit, value)
    assert found(history, OF_QUEUES, narrowed=True) == expected


def test_an_unknown_offset_is_suspicious(story: Any, loaded: Any) -> None:
    s = took(fed(story()), 0, 1, 2, 3)
    got(s, 0, 300, count=0)
    for row in s.operations[-1:]:
        row["start_offset"] = None
    one = loaded({"r": ended(s)})
    each = found(one, OF_QUEUES, narrowed=True)
    assert [one.anomaly for one in each] == ["queue-delivery-count"]
    assert each == found(one, OF_QUEUES, narrowed=False)


def test_suspects_are_looked_for_once(history: History) -> None:
    statements: list[str] = []

    class Counted(SharedTables):
        def collected(self, statement: str, collect: Any) -> Any:
            return super().collected(statement, lambda sql: statements.append(sql) or collect(sql))

    shared = replace(history, in_one_piece=False, shared=Counted(history.sql))
    for fact in PARTS:
        assert narrow(shared, fact) is not None
    assert len(statements) == 1
