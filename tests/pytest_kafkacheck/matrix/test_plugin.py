"""Cells as tests of a session. Nothing runs: a stand-in says what each cell showed."""

from __future__ import annotations

import json

import pytest

CONFTEST = """
import pytest
from pytest_kafkacheck.matrix.cell_result import CellResult
from pytest_kafkacheck.matrix.batch import SessionCells
from pytest_kafkacheck.matrix.cell_result import Shown
from pytest_kafkacheck.plugin.cells import SELECTED

RUNS = []

def shown(cell):
    return Shown(path="kept", written=100, lost=9 if cell.chosen.acks == 1 else 0, acks_in_window=5)

def run(cells):
    RUNS.append([cell.id for cell in cells])
    return [CellResult(cell, (shown(cell),)) for cell in cells]

@pytest.fixture(scope="session")
def _kafkacheck_harness():
    return None

@pytest.fixture(scope="session")
def _kafkacheck_cells(pytestconfig, _kafkacheck_harness):
    yield SessionCells(pytestconfig.stash[SELECTED], run)
    print("RUNS", RUNS)
"""

TEST = """
from pytest_kafkacheck import ConfigMatrix, scenarios

MATRIX = ConfigMatrix(acks=["all", 1]) * scenarios("leader-killed", "power-loss")

@MATRIX.parametrize
def test_cell(kafkacheck, cell):
    kafkacheck(cell){}
"""


@pytest.fixture
def session(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    return pytester


def test_each_cell_is_a_test_and_the_table_comes_at_the_end(session: pytest.Pytester) -> None:
    session.makepyfile(TEST.format(".assert_as_predicted()"))
    result = session.runpytest("-v", "-s", "--kafkacheck-matrix=matrix.json", "-p", "no:cacheprovider")
    # acks=all keeps everything in this stand-in, also where power is lost.
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_cell[[]leader-killed-acks=all]*PASSED*",
            "*test_cell[[]power-loss-acks=all]*FAILED*",
            "*power-loss-acks=all: loss not reproduced in 1 try*",
            "scenario *configuration *expected *shown*",
            "leader-killed *acks=1 *loses *broken: 9 of 100 lost *as predicted*",
            "4 cells: 3 as predicted, 1 not reproduced",
        ],
        consecutive=False,
    )
    # Two scenarios on two kinds of cluster: two runs of two cells, and none for the other tests.
    result.stdout.fnmatch_lines(["*RUNS *leader-killed-acks=all*leader-killed-acks=1*power-loss-acks=all*"])
    cells = json.loads((session.path / "matrix.json").read_text())["cells"]
    assert len(cells) == 4


def test_a_session_runs_only_the_cells_that_it_has_selected(session: pytest.Pytester) -> None:
    session.makepyfile(TEST.format(".assert_as_predicted()"))
    result = session.runpytest("-s", "-k", "leader-killed and not all", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, deselected=3)
    result.stdout.fnmatch_lines(["*RUNS [[][[]'leader-killed-acks=1'[]][]]*"])


def test_a_test_that_forgets_to_look_fails(session: pytest.Pytester) -> None:
    session.makepyfile(TEST.format(""))
    result = session.runpytest("-k", "power-loss and all", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, errors=1, deselected=3)
    result.stdout.fnmatch_lines(["*the test did not call assert_as_predicted()*"])


def test_a_file_of_another_form_is_refused(session: pytest.Pytester) -> None:
    result = session.runpytest("--kafkacheck-matrix=matrix.xls")
    result.stderr.fnmatch_lines(
        ["*--kafkacheck-matrix matrix.xls: no such form; expected a file .md, .json, .csv*"]
    )
