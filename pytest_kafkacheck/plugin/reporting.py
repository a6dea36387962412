"""What pytest prints of runs and clusters: progress, verdicts of failed tests, clusters that are still running.

It also writes report.html of the runs of a test, says in JUnit's properties where it is, and with
``--kafkacheck-retain failed`` removes the runs of tests that passed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_kafkacheck.plugin.cells import summarize_cells
from pytest_kafkacheck.plugin.evidence import ENDED, keep_evidence
from pytest_kafkacheck.plugin.summary import ROW, row, write_summary
from pytest_kafkacheck.plugin.usage_errors import shorten_usage_error
from pytest_kafkacheck.progress import timed

if TYPE_CHECKING:
    from pytest_kafkacheck.run import Run


RUNS = pytest.StashKey[list["Run"]]()
"""Of a test: the runs it made."""

ONE_LINE = "kafkacheck-summary"
"""The property of a test's report that says what a run of it showed."""

KEPT = pytest.StashKey[list[str]]()
"""Of a session: how to reach each cluster that was kept."""

EVIDENCE = pytest.StashKey[list[str]]()
"""Of a session: where the evidence of interrupted tests is."""


def progress(config: pytest.Config) -> Callable[[str], None]:
    """A function that prints a line of progress, with ``-v``."""
    reporter = config.pluginmanager.getplugin("terminalreporter")

    def say(line: str) -> None:
        if reporter is not None and config.get_verbosity() > 0:
            capture = config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"kafkacheck: {timed(line, on_terminal=reporter.isatty)}")

    return say


def announce_kept(config: pytest.Config, *texts: str) -> None:
    """Print these at the end of the session."""
    config.stash.setdefault(KEPT, []).extend(texts)


def announce_evidence(config: pytest.Config, text: str) -> None:
    """Print at the end of the session where the evidence of an interrupted test is."""
    config.stash.setdefault(EVIDENCE, []).append(text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a test's verdicts to its report and its JUnit properties; note a failure, so that its cluster is kept."""
    shorten_usage_error(call)
    report = yield
    runs = item.stash.get(RUNS, None)
    harness = getattr(item, "funcargs", {}).get("_kafkacheck_harness")
    if harness is not None and report.failed:
        harness.has_failed = True
    if report.skipped or (call.when == "call" and report.passed):
        item.stash[ENDED] = True
    elif report.failed and (kept := keep_evidence(item)) is not None:
        report.sections.append(("kafkacheck cluster", kept))
    if call.excinfo is not None and report.failed:
        _shorten_message(report, call.excinfo.value)
    if runs and call.when == "call":
        shown = "" if call.excinfo is None else str(call.excinfo.value)
        for run in runs:
            item.user_properties.extend(properties(run))
            report.user_properties += [(ONE_LINE, run.one_line()), (ROW, row(run))]
            # The text of a VerdictError is the run's own text, which is not printed twice.
            if run.replay() not in shown:
                report.sections.append((f"kafkacheck {run.result}", run.text()))
            if item.config.get_verbosity() > 0:
                report.sections.append(("kafkacheck details", run.details()))
    if runs and call.when != "setup":
        write_reports(item, report, runs)
    drop_passed(item, report, runs or [])
    return report


def _shorten_message(report: pytest.TestReport, error: BaseException) -> None:
    """Make the first line of a VerdictError the message of the short summary and of JUnit: pytest starts it with the
    name of the class, which leaves no space for the anomalies in a terminal's line."""
    if type(error).__name__ == "VerdictError" and (crash := getattr(report.longrepr, "reprcrash", None)):
        crash.message = str(error).partition("\n")[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    _summarize_passed(terminalreporter, config)
    summarize_cells(terminalreporter, config)
    write_summary(terminalreporter, config)
    if interrupted := config.stash.get(EVIDENCE, []):
        terminalreporter.section("kafkacheck: evidence of interrupted tests")
        for text in interrupted:
            terminalreporter.line(text)
    if kept := config.stash.get(KEPT, []):
        terminalreporter.section("kafkacheck: still running")
        for text in kept:
            terminalreporter.line(text)
        terminalreporter.line("again:  pytest --kafkacheck-reuse --kafkacheck-keep")


def _summarize_passed(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line for each run of a test that passed: what it showed."""
    passed = [each for each in terminalreporter.stats.get("passed", ()) if each.when == "call"]
    lines = [
        (report.nodeid, text)
        for report in passed
        for key, text in report.user_properties
        if key in (ONE_LINE, SHOWN)
    ]
    if lines and config.get_verbosity() >= 0:
        terminalreporter.section("kafkacheck: what the runs of passed tests showed")
        for test, text in lines:
            terminalreporter.line(f"{test}\n    {text}")


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
