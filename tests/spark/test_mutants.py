"""Every operator in the condition of a check matters: some planted history is judged differently without it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from analyzers.catalogue.check import Check
from analyzers.judge.find import find
from analyzers.judge.suspects import Suspects
from tests.support.stories.planted import ALL, PLANTED, RUNNING
from tests.support.stories.running import RUNNING_STORIES

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def stories(story: Any) -> dict[str, Any]:
    return {make.__name__: make(story()) for make in (*PLANTED, *RUNNING_STORIES)}


SWAPS = [
    (r"<=", "<"), (r"<=", ">"), (r"<(?![=>])", "<="), (r"<(?![=>])", ">"), (r"(?<![-<])>(?!=)", ">="),
    (r"\band\b", "or"), (r"\bor\b", "and"), (r"\bis null\b", "is not null"),
    (r"\bis not null\b", "is null"), (r"\bnot (?!null)", ""), (r"=(?= ')", "<>"), (r"!=|<>", "="),
]  # fmt: skip


def mutants(check: Check) -> list[Check]:
    """The check with each of its operators replaced, one at a time, and a check that finds nothing."""
    wheres = ["false"]
    for pattern, other in SWAPS:
        for match in re.finditer(pattern, check.where):
            wheres.append(check.where[: match.start()] + other + check.where[match.end() :])
    return [
        replace(check, anomaly=replace(check.anomaly, name=f"{check.name}~{i}"), where=where)
        for i, where in enumerate(wheres)
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("is_running", [False, True])
def test_no_check_can_be_altered_unnoticed(loaded: Any, stories: dict[str, Any], is_running: bool) -> None:
    """All mutants of all checks run over the planted stories in one job; the findings of each must differ."""
    checks = RUNNING if is_running else ALL
    altered = [mutant for check in checks for mutant in mutants(check)]
    assert len(altered) > 3 * len(checks)
    history = replace(loaded(stories), is_running=is_running)
    # The first look would hide what an altered check finds in healthy histories. This one rules out nothing.
    found, crashed = find(history, [*checks, *altered], examples=0, first_look=lambda *_: Suspects(runs={}))
    assert not crashed
    counts: dict[str, dict[str, int]] = {}
    for one in found:
        counts.setdefault(one.anomaly, {})[one.run] = one.count
    survivors = [
        f"{mutant.name}: {mutant.where}"
        for mutant in altered
        if counts.get(mutant.name, {}) == counts[mutant.name.partition("~")[0]]
    ]
    assert survivors == []
