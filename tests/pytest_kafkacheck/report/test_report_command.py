"""``kafkacheck report``, and the option of the plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kafkacheck.cli.main import main
from tests.pytest_kafkacheck.test_plugin import HARNESS, TEST
from tests.support.report_runs import unclean

pytest_plugins = ["pytester"]

WITHOUT_SPARK = """
import sys
from pytest_kafkacheck.cli.main import main
status = main(["report", sys.argv[1]])
assert "pyspark" not in sys.modules
sys.exit(status)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return unclean(tmp_path / "runs" / "unclean")


def test_a_report_lies_in_the_folder_of_its_run_and_needs_no_spark(run: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, str(run)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{run}/report.html\n"), done.stderr
    assert (run / "report.html").read_text().startswith("<!doctype html>")


def test_o_names_the_file(run: Path, tmp_path: Path) -> None:
    assert main(["report", str(run), "-o", str(tmp_path / "one.html")]) == 0
    assert main(["report", str(run), "--md", "-o", str(tmp_path / "one.md")]) == 0
    assert "lost-write" in (tmp_path / "one.html").read_text()
    assert (tmp_path / "one.md").read_text().startswith("### ✗ invalid")


def test_several_runs_are_compared(run: Path, tmp_path: Path) -> None:
    assert main(["report", str(run), str(run), "-o", str(tmp_path / "two.html")]) == 0
    assert "2 runs compared" in (tmp_path / "two.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing: no run (it has no folder history/)"),
        (["{run}", "{run}", "--md"], "--md: expected one RUN, got 2"),
        (["{run}", "-o", "{run}/no/such/file"], "the report cannot be written (No such file or directory)"),
    ],
)
def test_bad_input_is_named_in_one_line(
    run: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["report", *(each.format(run=run) for each in arguments)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


RUNS = """
import pathlib, shutil
def run(self, experiment, *, name):
    home = pathlib.Path(name).resolve()
    shutil.copytree({source!r}, home)
    return Run(home, VERDICTS[self.result])
Fake.run = run
"""
"""The fake harness leaves the folder of a recorded run."""


@pytest.mark.parametrize(
    ("options", "verdict", "is_written"),
    [
        ((), "invalid", True),
        ((), "valid", False),
        (("--kafkacheck-report=always",), "valid", True),
        (("--kafkacheck-report=never",), "invalid", False),
    ],
)
def test_a_report_is_written_when_it_is_asked_for(
    pytester: pytest.Pytester, run: Path, options: tuple[str, ...], verdict: str, is_written: bool
) -> None:
    pytester.makeconftest(HARNESS + RUNS.format(source=str(run)))
    pytester.makepyfile(test_a=TEST.format("run.assert_valid()"))
    result = pytester.runpytest_subprocess("--fake", verdict, "--junitxml=out.xml", *options)
    file = pytester.path / "test_it" / "report.html"
    assert file.exists() == is_written
    properties = (pytester.path / "out.xml").read_text()
    assert f'name="kafkacheck_result" value="{verdict}"' in properties
    assert ("kafkacheck_report" in properties) == is_written
    assert (str(file) in result.stdout.str()) == is_written


def test_a_test_that_did_not_look_at_its_verdict_gets_a_report_too(
    pytester: pytest.Pytester, run: Path
) -> None:
    pytester.makeconftest(HARNESS + RUNS.format(source=str(run)))
    pytester.makepyfile(test_a=TEST.format("pass"))
    pytester.runpytest_subprocess("--fake", "invalid", "--junitxml=out.xml").assert_outcomes(
        passed=1, errors=1
    )
    assert (pytester.path / "test_it" / "report.html").exists()
    assert "kafkacheck_report" in (pytester.path / "out.xml").read_text()


def test_a_report_that_fails_does_not_hide_the_verdict(pytester: pytest.Pytester) -> None:
    """The fake harness has no folder of a run."""
    pytester.makeconftest(HARNESS)
    pytester.makepyfile(test_a=TEST.format("run.assert_valid()"))
    result = pytester.runpytest_subprocess("--fake", "invalid", "-ra")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*not written (UsageError: *no run*try kafkacheck report kept/test_it",
            "FAILED *INVALID duplicate ×1*",
        ]
    )
