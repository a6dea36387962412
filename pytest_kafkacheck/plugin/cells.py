"""Cells of matrices in a test session: which ones are selected, and the table of their results at its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.matrix.batch import SessionCells
    from pytest_kafkacheck.matrix.cell import Cell

SELECTED = pytest.StashKey[list["Cell"]]()
"""Of a session: the cells of its tests."""

RESULT = "kafkacheck-cell"
"""The property of a test that has the result of a cell in JSON."""

CELLS = "pytest_kafkacheck.matrix.cell"
"""Where cells are defined. Loading it here would cost every session half a second."""

FORMS = (".md", ".json", ".csv")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the cells of all tests that will run."""
    values = [
        value
        for item in session.items
        if (spec := getattr(item, "callspec", None)) is not None
        for value in spec.params.values()
    ]
    session.config.stash[SELECTED] = [value for value in values if type(value).__module__ == CELLS]


@pytest.fixture(scope="session")
def _kafkacheck_cells(pytestconfig: pytest.Config, _kafkacheck_harness: Harness) -> SessionCells:
    from pytest_kafkacheck.matrix.batch import SessionCells, run_cells

    selected: list[Cell] = pytestconfig.stash.get(SELECTED, [])
    return SessionCells(
        selected,
        lambda cells: run_cells(_kafkacheck_harness, cells, say=_kafkacheck_harness.say),
    )


def summarize_cells(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the results of all cells as a table, and write it into the file of --kafkacheck-matrix."""
    results = [
        json.loads(text)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for key, text in report.user_properties
        if key == RESULT
    ]
    if not results:
        return
    from pytest_kafkacheck.matrix.table import plain, summary

    terminalreporter.section("kafkacheck: configurations")
    for line in plain(results):
        terminalreporter.line(line)
    terminalreporter.line(summary(results))
    if file := config.getoption("kafkacheck_matrix"):
        path = config.invocation_params.dir / file
        path.write_text(_text(path, results), encoding="utf-8")


def check_matrix_file(config: pytest.Config) -> None:
    """Raises pytest.UsageError for a file whose form is not known, or that cannot be written."""
    if not (file := config.getoption("kafkacheck_matrix")):
        return
    path = config.invocation_params.dir / file
    if path.suffix not in FORMS or not path.parent.is_dir():
        reason = "its folder does not exist" if path.suffix in FORMS else "no such form"
        raise pytest.UsageError(
            f"--kafkacheck-matrix {file}: {reason}; expected a file {', '.join(FORMS)} in a folder that exists"
        )


def _text(path: Path, results: list[dict[str, Any]]) -> str:
    from pytest_kafkacheck.matrix.table import as_csv, as_json, markdown

    if path.suffix == ".csv":
        return as_csv(results)
    return as_json(results, {}) if path.suffix == ".json" else markdown(results, {})
