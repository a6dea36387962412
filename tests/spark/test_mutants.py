"""No check can be altered, and no reason for suspicion left out, without a planted history that tells."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from analyzers.checks import Check
from analyzers.judge.find import find
from analyzers.judge.prefilter import SCREENED, SUSPICIOUS, Suspects, screen
from tests.support.stories.planted import ALL, PLANTED

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def stories(story: Any) -> dict[str, Any]:
    return {tell.__name__: tell(story()) for tell in PLANTED}


SWAPS = [
    (r"<=", "<"), (r"<=", ">"), (r"<(?!=)", "<="), (r"<(?!=)", ">"), (r"(?<!-)>(?!=)", ">="),
    (r"\band\b", "or"), (r"\bor\b", "and"), (r"\bis null\b", "is not null"),
    (r"\bis not null\b", "is null"), (r"\bnot (?!null)", ""), (r"=(?= ')", "<>"), (r"!=", "="),
]  # fmt: skip


def mutants(check: Check) -> list[Check]:
    """The check with each of its operators turned, one at a time, and a check that finds nothing."""
    wheres = ["false"]
    for pattern, other in SWAPS:
        for match in re.finditer(pattern, check.where):
            wheres.append(check.where[: match.start()] + other + check.where[match.end() :])
    return [replace(check, anomaly=f"{check.anomaly}~{i}", where=where) for i, where in enumerate(wheres)]


def test_no_check_can_be_altered_unnoticed(loaded: Any, stories: dict[str, Any]) -> None:
    """All mutants of all checks run over the planted stories in one job; each must answer differently."""
    altered = [mutant for check in ALL for mutant in mutants(check)]
    assert len(altered) > 3 * len(ALL)
    # A look that rules out nothing: it would hide what an altered check finds in healthy histories.
    everything = Suspects(runs=dict.fromkeys(SCREENED, frozenset(stories)), values=None, offsets=None)
    found, crashed = find(loaded(stories), [*ALL, *altered], examples=0, look=lambda _: everything)
    assert not crashed
    counts: dict[str, dict[str, int]] = {}
    for one in found:
        counts.setdefault(one.anomaly, {})[one.run] = one.count
    survivors = [
        f"{mutant.anomaly}: {' '.join(mutant.where.split())}"
        for mutant in altered
        if counts.get(mutant.anomaly, {}) == counts[mutant.anomaly.partition("~")[0]]
    ]
    assert survivors == []


REASONS = [(fact, reason) for fact, reasons in SUSPICIOUS.items() for reason in reasons]


@pytest.mark.parametrize(("fact", "reason"), REASONS)
def test_no_reason_for_suspicion_can_be_left_out(
    loaded: Any, stories: dict[str, Any], monkeypatch: pytest.MonkeyPatch, fact: str, reason: str
) -> None:
    """Without it, the first look overlooks a run in which a check finds something."""
    found = {check.anomaly for check in ALL if check.over == fact}
    guilty = {tell.__name__ for tell, anomalies in PLANTED.items() if found & anomalies.keys()}
    history = loaded(stories)
    assert guilty <= screen(history).runs[fact]
    monkeypatch.setitem(SUSPICIOUS, fact, SUSPICIOUS[fact] | {reason: "false"})
    assert guilty - screen(history).runs[fact]
