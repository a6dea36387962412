"""The schedule of docs/pipeline.md is the one with which defective applications are run."""

from __future__ import annotations

from typing import Any

import pytest

import pytest_kafkacheck
from tests.docs.markdown import ROOT, blocks
from tests.support.application_defects import DEFECTS, experiment


def test_the_schedule_of_the_page_is_the_one_that_is_measured() -> None:
    block = next(each for each in blocks(ROOT / "docs" / "pipeline.md") if each.language == "python")
    names: dict[str, Any] = {}
    exec(compile(block.text, str(block), "exec"), names)
    made: list[pytest_kafkacheck.Experiment] = []
    with pytest.raises(AttributeError, match="assert_valid"):  # of the run, which is None here
        names["test_invoices"](made.append)
    (of_page,) = made
    measured = experiment(DEFECTS[0], mended=False)
    assert of_page.schedule.events == measured.schedule.events
    assert of_page.cooldown == measured.cooldown
