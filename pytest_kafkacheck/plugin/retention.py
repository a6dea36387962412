"""``--kafkacheck-retain failed``: the runs of tests that passed are removed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.run import Run

NOT_PASSED = pytest.StashKey[bool]()
"""Of a test: whether any of its phases did not pass."""


def drop_passed(item: pytest.Item, report: pytest.TestReport, runs: list[Run]) -> None:
    """Remove the folders of a test's runs after its teardown, if all of it passed and the user wants that."""
    if not report.passed:
        item.stash[NOT_PASSED] = True
    wanted = item.config.getoption("kafkacheck_retain") == "failed"
    if wanted and report.when == "teardown" and not item.stash.get(NOT_PASSED, False):
        for run in runs:
            shutil.rmtree(run.path, ignore_errors=True)
