"""A pytest plugin that prints where the time of a session went: by folder, by shared set-up and by worker.

It prints with `--time-by-folder`, and always where CI is set, as continuous integration does.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.work_units import folder

PHASES = ("setup", "call", "teardown")

LEAST = 1.0
"""Seconds below which a shared set-up is not printed."""

SET_UPS = pytest.StashKey[dict[str, float]]()
"""Seconds of the set-ups that were made for the test that is about to run, by name."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--time-by-folder", action="store_true", help="print where the time of the tests went")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SET_UPS] = {}
    if config.getoption("time_by_folder") or os.environ.get("CI"):
        config.pluginmanager.register(Times())


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Measure fixtures that several tests share. The fixtures that they need are ready before this begins."""
    begun = time.perf_counter()
    try:
        return (yield)
    finally:
        if fixturedef.scope in ("session", "package", "module"):
            name = f"{fixturedef.baseid}: {fixturedef.argname}"
            request.config.stash[SET_UPS][name] = time.perf_counter() - begun


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Attach the measured set-ups to the report: only reports travel from xdist's workers to the controller."""
    report: Any = yield
    if call.when == "setup":
        report.set_ups = dict(item.config.stash[SET_UPS])
        item.config.stash[SET_UPS].clear()
    return report


class Times:
    """Adds up the durations of all reports and prints them at the end of the session."""

    def __init__(self) -> None:
        self._folders: dict[str, Counter[str]] = defaultdict(Counter)
        self._set_ups: dict[str, list[float]] = defaultdict(list)
        self._workers: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        place = self._folders[folder(report.nodeid)]
        place[report.when] += report.duration
        place["tests"] += report.when == "call"
        self._workers[getattr(report, "worker_id", "main")] += report.duration
        for name, seconds in getattr(report, "set_ups", {}).items():
            self._set_ups[name].append(seconds)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("seconds by folder")
        for line in self.lines():
            terminalreporter.write_line(line)

    def lines(self) -> list[str]:
        lines = [f"{'tests':>6} {'set-up':>8} {'call':>8} {'tear-down':>9} {'total':>8}"]
        total: Counter[str] = Counter()
        rows = sorted(self._folders.items(), key=lambda row: -_seconds(row[1]))
        for _, times in rows:
            total.update(times)
        for name, times in [*rows, ("total", total)]:
            setup, call, teardown = (times[phase] for phase in PHASES)
            lines.append(
                f"{times['tests']:6.0f} {setup:8.1f} {call:8.1f} {teardown:9.1f} {_seconds(times):8.1f}  {name}"
            )
        shared = sorted(self._set_ups.items(), key=lambda row: -sum(row[1]))
        for name, each in shared:
            if sum(each) >= LEAST:
                often = f" ({len(each)} times)" if len(each) > 1 else ""
                lines.append(f"set-up {sum(each):.1f} s  {name}{often}")
        lines += [f"worker {name}: {seconds:.1f} s" for name, seconds in sorted(self._workers.items())]
        return lines


def _seconds(times: Counter[str]) -> float:
    return sum(times[phase] for phase in PHASES)
