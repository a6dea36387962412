"""A pytest plugin that names each failure when it comes. After an internal error pytest prints no summary."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.hookimpl(trylast=True)  # the terminal's own plugin comes first
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(terminal))


class Failures:
    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            worker = getattr(report, "worker_id", "main")
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message.partition("\n")[0] if crash else ""
            self._terminal.write(f"\nfailed: {report.nodeid} ({report.when}, {worker}) {reason}\n")
