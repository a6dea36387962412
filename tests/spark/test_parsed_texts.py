"""Inspections of topics are compared alike, whether each different text is parsed once, or the text of each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzers.facts import answers as module
from analyzers.history.load import History
from tests.support.stories.inspections import PLANTED, altered

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def history(story: Any, loaded: Any) -> History:
    """Of all planted histories, and one with a change that says nothing."""
    stories = {make.__name__: make(story()) for make in PLANTED}
    silent = altered(next(iter(PLANTED))(story()), "config", (41, 42))
    silent.operations[-1]["value"] = None
    result: History = loaded({**stories, "silent": silent})
    return replace(result, loaded=replace(result.loaded, in_one_piece=False))


@pytest.mark.parametrize(("few", "is_joined"), [(module.FEW, True), (0, False)])
def test_few_texts_are_parsed_once(
    history: History, monkeypatch: pytest.MonkeyPatch, few: int, is_joined: bool
) -> None:
    monkeypatch.setattr(module, "FEW", few)
    expected = module.inspections(replace(history, loaded=replace(history.loaded, in_one_piece=True)))
    compared = module.inspections(history)
    assert ("Join" in compared._jdf.queryExecution().executedPlan().toString()) is is_joined
    assert "Join" not in expected._jdf.queryExecution().executedPlan().toString()
    rows = sorted(map(str, compared.collect()))
    assert rows == sorted(map(str, expected.collect()))
    assert any("silent" in row for row in rows)
    assert len(rows) > len(PLANTED)
