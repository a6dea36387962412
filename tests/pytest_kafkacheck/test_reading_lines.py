"""Commands that judge say what they read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cli.analyze import what_is_read
from tests.support.kept_run import kept_run


def test_few_runs_are_named_and_many_are_counted() -> None:
    assert what_is_read(["a", "b"]) == "judging a, b"
    assert what_is_read(["a", "b", "c", "d"]) == "judging 4 runs, a to d"


def test_explain_does_not_start_anything_for_a_folder_that_is_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = kept_run(tmp_path)
    (home / "experiment.json").write_text('{"format": 0}')
    assert cli.main(["explain", str(home)]) == cli.USAGE
    assert "reading" not in capsys.readouterr().err
