"""`kafkacheck matrix`: its file, its options, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_kafkacheck import ConfigMatrix, scenarios
from pytest_kafkacheck.cli.common.results import matrix_status
from pytest_kafkacheck.cli.main import main
from pytest_kafkacheck.matrix.cell_result import CellResult, Shown

FILE = """
from pytest_kafkacheck import ConfigMatrix, scenarios
matrix = ConfigMatrix(acks={acks}, idempotence={idempotence}) * scenarios("leader-killed", "power-loss")
"""


def file(folder: Path, acks: str = "['all', 1]", idempotence: str = "[None]") -> str:
    path = folder / "matrix.py"
    path.write_text(FILE.format(acks=acks, idempotence=idempotence))
    return str(path)


def test_the_cells_are_listed_with_what_is_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["matrix", file(tmp_path), "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[0] for line in lines] == [
        "leader-killed-acks=all: keeps",
        "leader-killed-acks=1: loses",
        "power-loss-acks=all: loses",
        "power-loss-acks=1: loses",
    ]
    assert main(["matrix", file(tmp_path), "--list", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [f"{each['cell']}: {each['expected']}" for each in cells] == [
        line.partition(" (")[0] for line in lines
    ]


def test_a_pattern_chooses_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", file(tmp_path), "--list", "--cell", "leader-*acks=1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert main(["matrix", file(tmp_path), "--list", "--cell", "x"]) == 2
    assert "--cell x: matches none of leader-killed-acks=all, " in capsys.readouterr().err


def test_impossible_cells_are_refused_unless_the_rest_is_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, idempotence="[True, False]")
    assert main(["matrix", path, "--list"]) == 2
    assert "2 of 8 cells are impossible: acks=1-idempotence=true" in capsys.readouterr().err
    assert main(["matrix", path, "--list", "--skip-impossible"]) == 0
    assert "acks=1-idempotence=true: impossible: enable.idempotence=true needs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("x = 1", [], "binds no matrix at its top level"),
        ("x = 1/0", [], "line 1, cannot be run: ZeroDivisionError"),
        (
            FILE.format(acks="['all']", idempotence="[None]"),
            ["--tries", "0"],
            "--tries 0: expected 1 or more",
        ),
        (
            FILE.format(acks="['all']", idempotence="[None]"),
            ["--csv", "/nowhere/x"],
            "its folder does not exist",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, arguments: list[str], said: str
) -> None:
    (tmp_path / "file.py").write_text(text)
    assert main(["matrix", str(tmp_path / "file.py"), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_exit_status_is_that_of_the_worst_cell() -> None:
    safe, losing = ConfigMatrix(acks=["all", 1]) * scenarios("leader-killed")
    kept = Shown(path="", written=5, lost=0, acks_in_window=5)
    lost = Shown(path="", written=5, lost=2, acks_in_window=5)
    assert matrix_status([CellResult(safe, (kept,)), CellResult(losing, (lost,))]) == 0
    assert matrix_status([CellResult(safe, (kept,)), CellResult(losing, (kept,))]) == 3
    assert matrix_status([CellResult(safe, (lost,)), CellResult(losing, (kept,))]) == 1
    assert matrix_status([]) == 3
