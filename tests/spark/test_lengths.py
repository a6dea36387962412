"""The tally knows of each log what facts about removed records would otherwise read all records for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analyzers.facts.removals import OWN_LENGTHS, removals
from analyzers.history.load import History
from analyzers.judge.scope import LENGTHS, known, lengths
from analyzers.judge.tally import tally
from tests.support.stories.whole_runs import all_stories

pytestmark = pytest.mark.spark

ONE = 1 << 40

Loaded = Callable[..., History]


@pytest.fixture(scope="module")
def history(loaded: Loaded, story: Any) -> History:
    more = {
        "final with read_committed": story().send(ONE, 0).final({0: ONE}, end=1, committed=True),
        "never completed": story().send(ONE, 0, at=(1, 2)).send(ONE + 1, None, at=(50, None), type="info"),
        "failed": story().send(ONE, None, type="fail", at=(5, 7)),
        "polls with read_committed": story().send(ONE, 0).poll(ONE, 0, committed=True).final({0: ONE}, end=1),
    }
    return loaded({**all_stories(story), **more})


def test_it_is_what_the_records_say(history: History) -> None:
    said = history.sql(OWN_LENGTHS).where("partition is not null").select(*LENGTHS.names)
    expected = {(*row[:5], bool(row.isolated)) for row in said.collect()}
    known = {tuple(row.values()) for row in lengths(tally(history)).to_pylist()}
    assert known == expected
    assert {isolated for *_, isolated in known} == {True, False}
    assert None in {top for _, _, _, top, _, _ in known}


def test_removals_are_the_same(history: History) -> None:
    counted = tally(history)
    counted_before = replace(history, known=known(counted))

    def rows(of: History) -> set[Any]:
        table = removals(of).selectExpr("*", "coalesce(isolated, false) as is_isolated").drop("isolated")
        return {tuple(row) for row in table.where("partition is not null").collect()}

    assert rows(counted_before) == rows(history)
