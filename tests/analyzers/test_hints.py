"""Every hint is shown by a run whose story tests/spark/test_stories_golden.py compares. Needs no JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.causes.hints import HINTS, Hint
from tests.support.stories.failures import FAILURES
from tests.support.stories.unexplained_settings import UNEXPLAINED

DATA = Path(__file__).parents[1] / "data"
STORIES = {each.stem: each.read_text().splitlines() for each in (DATA / "stories").glob("*.txt")}


@pytest.mark.parametrize("hint", HINTS, ids=lambda hint: f"{hint.kind}, {hint.circumstance}, {hint.setting}")
def test_some_run_shows_the_hint(hint: Hint) -> None:
    why, change = f"   why    {hint.why}", f"   try    {hint.change}"
    shown = [lines for lines in STORIES.values() if why in lines]
    assert shown, f"no story under tests/data/stories has the line {why!r}"
    assert all((change in lines) == bool(hint.change) for lines in shown)


def test_every_expected_story_is_that_of_a_run() -> None:
    """Otherwise a hint would count as shown because of a file that nothing compares."""
    recorded = {each.name for each in (DATA / "runs").iterdir() if each.is_dir()}
    made = {make.__name__ for make in (*FAILURES, *UNEXPLAINED)}
    assert STORIES.keys() == recorded | made | {"torn_transfer_alone"}
