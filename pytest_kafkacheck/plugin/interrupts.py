"""Ctrl-C in a session: it is answered at once, is shown in one line, and is not one of the tests after it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from pytest_kafkacheck.plugin.usage_errors import is_our_file


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget an interrupt that a test has caught, as tests of signals do."""
    # Where it was not imported, there is nothing to forget.
    if (termination := sys.modules.get("pytest_kafkacheck.termination")) is not None:
        termination.forget()


def announce(config: pytest.Config) -> Callable[[str], None]:
    """A function that prints a line at once, whatever is captured. It prints nothing in a worker of xdist."""
    reporter = config.pluginmanager.getplugin("terminalreporter")

    def say(line: str) -> None:
        if reporter is not None:
            capture = config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"kafkacheck: {line}")

    return say


class BriefInterrupts:
    """A plugin for sessions without ``--full-trace``: pytest then shows the line that was interrupted.

    It reads and parses the source of every frame for that. On a busy machine, that took 3.9 s of the 10.5 from Ctrl-C
    to the end.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Leave the line that called kafkacheck."""
        frames = list(excinfo.traceback)
        first = next((number for number, frame in enumerate(frames) if is_our_file(frame.path)), 0)
        if first:
            excinfo.traceback = type(excinfo.traceback)(frames[first - 1 : first])
