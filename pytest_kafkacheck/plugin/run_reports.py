"""report.html of the runs of a test, and what JUnit's properties say about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.run import Run

WRITTEN = pytest.StashKey[set[int]]()
"""Of a test: which of its runs have a report, or could not get one."""

SECTION = "kafkacheck report"

PROPERTY = "kafkacheck_report"
"""Of JUnit: the file, or why there is none."""

SHOWN = "kafkacheck-report"
"""The property of a test's report that is printed if the test passed."""


def write_reports(item: pytest.Item, report: pytest.TestReport, runs: list[Run]) -> None:
    """Write those that ``--kafkacheck-report`` asks for, each once. Never raises: the test has its result already."""
    when = item.config.getoption("kafkacheck_report")
    if when == "never" or not (report.failed or when == "always"):
        return
    written = item.stash.setdefault(WRITTEN, set())
    for number, run in enumerate(runs):
        if number not in written:
            written.add(number)
            _write(item, report, run)


def _write(item: pytest.Item, report: pytest.TestReport, run: Run) -> None:
    from pytest_kafkacheck.report.attempt import written_or_why_not

    text = written_or_why_not(run.path)
    report.sections.append((SECTION, text))
    item.user_properties.append((PROPERTY, text))
    # JUnit takes the properties of the report of the teardown, which has those of the test when it is made.
    if report.when == "teardown":
        report.user_properties.append((PROPERTY, text))
    else:
        report.user_properties.append((SHOWN, f"report: {text}"))


def properties(run: Run) -> Iterator[tuple[str, object]]:
    """Of JUnit, by name: what the run showed, in a form that other programs compare."""
    yield "kafkacheck", f"{run.result} {run.path}"
    yield "kafkacheck_result", run.result
    yield from run.figures()
