"""``kafkacheck init`` and ``completion``: what they write is usable, and nothing is overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cli.common.init_files import CI


def test_the_first_test_is_collected_and_passes_lint(tmp_path: Path) -> None:
    assert cli.main(["init", str(tmp_path)]) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["test_kafka.py"]
    collect = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "--rootdir=.",
    ]
    done = subprocess.run(collect, cwd=tmp_path, capture_output=True, text=True)
    assert "2 tests collected" in done.stdout, done.stdout + done.stderr
    for check in (["check", "--select", "E,F,W,I,B,UP,SIM,RUF,C4,PT,PIE,RET,ARG"], ["format", "--check"]):
        lint = [sys.executable, "-m", "ruff", *check, "--no-cache", "--isolated", "."]
        done = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_experiments_of_the_first_test_are_accepted(tmp_path: Path) -> None:
    """Each is built and handed over; a run would need a cluster."""
    cli.main(["init", str(tmp_path)])
    names: dict[str, object] = {}
    exec((tmp_path / "test_kafka.py").read_text(), names)
    seen = []

    class Run:
        def assert_valid(self) -> None: ...

    def kafkacheck(experiment: object) -> Run:
        seen.append(type(experiment).__name__)
        return Run()

    for name, value in names.items():
        if name.startswith("test_"):
            assert callable(value)
            value(kafkacheck)
    assert seen == ["Experiment"] * 2


@pytest.mark.parametrize("service", CI)
def test_the_file_for_ci_runs_the_test_and_keeps_the_evidence(tmp_path: Path, service: str) -> None:
    assert cli.main(["init", str(tmp_path), "--ci", service]) == 0
    text = (tmp_path / CI[service][0]).read_text()
    assert yaml.safe_load(text)
    for said in ("kafkacheck setup", "test_kafka.py", ".kafkacheck/", "junit"):
        assert said in text


def test_nothing_is_written_where_one_file_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("mine")
    assert cli.main(["init", str(tmp_path), "--ci", "gitlab"]) == cli.USAGE
    assert ".gitlab-ci.yml: exists already" in capsys.readouterr().err
    assert [each.read_text() for each in tmp_path.iterdir()] == ["mine"]
    assert cli.main(["init", str(tmp_path / "none")]) == cli.USAGE


def test_fish_completes_commands_options_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    """As text: fish is installed on few machines."""
    assert cli.main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    conditions = {"trend": "_shtab_kafkacheck_using; and", "--failed": "'_shtab_kafkacheck_using ls'"}
    for word, condition in conditions.items():
        wanted = f" -l {word[2:]} " if word.startswith("--") else f" -a {word} "
        assert any(wanted in line and condition in line for line in lines)
    assert any(
        "'_shtab_kafkacheck_using run; and" in line and "__fish_complete_path" in line for line in lines
    )


def test_bash_completes_commands_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As an interactive bash calls it."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("bash is not installed: only it can say what it completes")
    assert cli.main(["completion", "bash"]) == 0
    (tmp_path / "completion").write_text(capsys.readouterr().out)

    def completed(*words: str) -> set[str]:
        program = (
            f"source {tmp_path}/completion; COMP_WORDS=({' '.join(words)!s} '{words[-1]}'); unset 'COMP_WORDS[-2]'; "
            f'COMP_WORDS=("${{COMP_WORDS[@]}}"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _shtab_kafkacheck; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run([bash, "-c", program], capture_output=True, text=True, env={**os.environ})
        return set(done.stdout.split())

    assert completed("kafkacheck", "tre") == {"trend"}
    assert "--failed" in completed("kafkacheck", "ls", "--f")
    assert completed("kafkacheck", "cluster", "do") == {"down"}
