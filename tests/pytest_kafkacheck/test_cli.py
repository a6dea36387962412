"""Commands that refuse their arguments, files of experiments, and exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cli.exit_status import worst
from pytest_kafkacheck.cli.run import load
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog

PROGRAM = """
from pytest_kafkacheck import AppendLog, Experiment
one = Experiment(name="one", workload=AppendLog())
two = Experiment(name="two", workload=AppendLog(acks=1), expect="invalid")
"""


def test_experiments_of_a_python_file_in_order(tmp_path: Path) -> None:
    file = tmp_path / "experiments.py"
    file.write_text(PROGRAM)
    assert [each.name for each in load(file)] == ["one", "two"]


def test_experiment_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "experiment.json"
    experiment = Experiment(name="again", workload=AppendLog())
    file.write_text(json.dumps(experiment.to_json()))
    assert load(file) == [experiment]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.json", None, "no such file"),
        (
            "broken.json",
            "{",
            "broken.json, line 1, column 2: expected property name enclosed in",
        ),
        (
            "broken.json",
            '{\n "format" oops',
            "broken.json, line 2, column 11: expected ':' delimiter, found 'oops'",
        ),
        ("broken.json", "[" * 100_000, "expected JSON that is not nested so deeply"),
        (
            "latin.json",
            b'{\n"name": "caf\xe9"}',
            "latin.json, line 2: expected text in UTF-8, found the byte 0xe9",
        ),
        ("empty.json", '{"format": 1}', "not an experiment of format 1: the field 'workload' is missing"),
        ("other.json", '{"format": 0}', "format 0"),
        ("notes.txt", "x", "expected experiment.json"),
        ("tests.py", "def test_it(kafkacheck): pass", "binds no Experiment"),
        ("wrong.py", "from pytest_kafkacheck import AppendLog\nAppendLog(acks=2)", "AppendLog.acks=2"),
        (
            "wrong.py",
            "from pytest_kafkacheck import AppendLog\nAppendLog(acks=2)",
            "wrong.py, line 2, cannot be",
        ),
        ("ends.py", "import sys\nsys.exit(0)", "ends.py, line 2, cannot be run: SystemExit: 0"),
        ("syntax.py", "def", "SyntaxError"),
    ],
)
def test_wrong_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert cli.main(["run", str(tmp_path / name)]) == cli.USAGE
    assert message in capsys.readouterr().err


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", str(tmp_path)]) == cli.USAGE
    assert "experiment.json" in capsys.readouterr().err


def test_a_missing_engine_is_an_infrastructure_error(tmp_path: Path) -> None:
    # In a separate process: the Docker SDK leaves its socket open when it cannot connect.
    done = subprocess.run(
        [sys.executable, "-m", "pytest_kafkacheck", "cluster", "down"],
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == cli.INFRASTRUCTURE
    assert "No Docker engine answers" in done.stderr
    assert "kafkacheck setup" in done.stderr


@pytest.mark.parametrize(
    ("statuses", "status"),
    [([0, 0], 0), ([0, 3], 3), ([3, 1, 0], 1), ([], 0)],
)
def test_the_worst_status_is_the_exit_status(statuses: list[int], status: int) -> None:
    assert worst(statuses) == status


def test_an_experiment_with_two_names_is_run_once(tmp_path: Path) -> None:
    file = tmp_path / "experiments.py"
    file.write_text(f"{PROGRAM}again = one\n")
    assert [each.name for each in load(file)] == ["one", "two"]


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "-inf", "inf"])
def test_a_wrong_time_limit_for_shrinking_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], minutes: str
) -> None:
    assert cli.main(["shrink", str(tmp_path), f"--minutes={minutes}"]) == cli.USAGE
    assert f"--minutes {minutes}: expected a finite number above 0" in capsys.readouterr().err


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Harness(tmp_path / "file") as harness, pytest.raises(UsageError, match="no run can be kept there"):
        harness.run(Experiment(workload=AppendLog()))
