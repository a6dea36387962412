"""A pytest plugin that names each failure when it comes, and what its process held then.

After an internal error pytest prints no summary. A test that fails only beside others may have found no descriptor,
thread or memory left.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest


@pytest.hookimpl(trylast=True)  # the terminal's own plugin comes first
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(terminal))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    """Only reports travel from xdist's workers to the controller."""
    report: Any = yield
    if report.failed:
        report.held = held()
    return report


def held() -> str:
    """What this process and this machine have in use."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        descriptors = psutil.Process().num_fds()
        free, load = psutil.virtual_memory().available >> 20, os.getloadavg()[0]
    except (OSError, psutil.Error) as error:  # to count descriptors takes one more
        return f"limit of {limit} descriptors, {error}"
    threads = threading.active_count()
    return f"{descriptors} of {limit} descriptors, {threads} threads, {free} MB free, load {load:.0f}"


class Failures:
    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            worker = getattr(report, "worker_id", "main")
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message.partition("\n")[0] if crash else ""
            state = getattr(report, "held", "crashed")
            self._terminal.write(f"\nfailed: {report.nodeid} ({report.when}, {worker}: {state}) {reason}\n")
