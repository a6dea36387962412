"""What pytest prints of runs and clusters: progress, verdicts of failed tests, clusters that are still running."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.run import Run

RUNS = pytest.StashKey[list["Run"]]()
"""Of a test: the runs it made."""

KEPT = pytest.StashKey[list[str]]()
"""Of a session: how to reach each cluster that was kept."""


def progress(config: pytest.Config) -> Callable[[str], None]:
    """A function that prints a line of progress, with ``-v``."""
    reporter = config.pluginmanager.getplugin("terminalreporter")

    def say(line: str) -> None:
        if reporter is not None and config.get_verbosity() > 0:
            capture = config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"kafkacheck: {line}")

    return say


def announce_kept(config: pytest.Config, *texts: str) -> None:
    """Print these at the end of the session."""
    config.stash.setdefault(KEPT, []).extend(texts)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a test's verdicts to its report and its JUnit properties; note a failure, so that its cluster is kept."""
    report = yield
    runs = item.stash.get(RUNS, None)
    harness = getattr(item, "funcargs", {}).get("_kafkacheck_harness")
    if harness is not None and report.failed:
        harness.has_failed = True
    if runs and call.when == "call":
        for run in runs:
            item.user_properties.append(("kafkacheck", f"{run.result} {run.path}"))
            report.sections.append((f"kafkacheck {run.result}", run.text()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if kept := config.stash.get(KEPT, []):
        terminalreporter.section("kafkacheck: still running")
        for text in kept:
            terminalreporter.line(text)
        terminalreporter.line("again:  pytest --kafkacheck-reuse --kafkacheck-keep")
