"""Every kind of cause is declared once, and shown by a run whose story tests/spark/test_stories_golden.py compares.

Needs no JVM.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.causes.explainers.clients_and_settings import BY_CLIENTS, REMOVALS
from analyzers.causes.kind import CauseKind, first_kind
from analyzers.causes.registry import EXPLAINERS, KINDS
from tests.support.stories.failing_applications import FAILING_APPLICATIONS
from tests.support.stories.failures import FAILURES
from tests.support.stories.unexplained_settings import UNEXPLAINED

DATA = Path(__file__).parents[1] / "data"
STORIES = {each.stem: each.read_text().splitlines() for each in (DATA / "stories").glob("*.txt")}


ELSEWHERE = (BY_CLIENTS, REMOVALS)
"""Explainers whose kinds tests/analyzers/test_causes_of_anomalies.py shows."""


SHOWN_IN_STORIES = [kind for each in EXPLAINERS if each not in ELSEWHERE for kind in each.kinds]


@pytest.mark.parametrize("kind", SHOWN_IN_STORIES, ids=lambda kind: kind.name)
def test_some_run_shows_the_kind(kind: CauseKind) -> None:
    why, change = f"   why    {kind.why}", f"   try    {kind.change}"
    shown = [lines for lines in STORIES.values() if why in lines]
    assert shown, f"no story under tests/data/stories has the line {why!r}"
    assert all((change in lines) == bool(kind.change) for lines in shown)


def test_every_expected_story_is_that_of_a_run() -> None:
    """Otherwise a kind would count as shown because of a file that nothing compares."""
    recorded = {each.name for each in (DATA / "runs").iterdir() if each.is_dir()}
    made = {make.__name__ for make in (*FAILURES, *UNEXPLAINED, *FAILING_APPLICATIONS)}
    assert STORIES.keys() == recorded | made | {"torn_transfer_alone"}


def test_a_kind_says_what_to_change_or_that_nothing_has_to_be() -> None:
    declared = [kind for each in EXPLAINERS for kind in each.kinds]
    assert len(declared) == len(KINDS), "two kinds have one name"
    for kind in declared:
        assert kind.explains <= ANOMALIES.keys(), kind.name
        assert bool(kind.change) == (kind.changes in ("setting", "application")), kind.name
        assert kind.source, kind.name


@pytest.mark.parametrize("kind", SHOWN_IN_STORIES, ids=lambda kind: kind.name)
def test_every_kind_is_reachable(kind: CauseKind) -> None:
    (table,) = (each.kinds for each in EXPLAINERS if kind in each.kinds)
    circumstances = (kind.circumstance,) if kind.circumstance else ()
    assert first_kind(table, circumstances, dict([kind.setting]) if kind.setting else {}) is kind
