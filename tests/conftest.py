"""Shared by all tests: the reference cases, the time by folder, and how workers share the tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support import work_units
from tests.support.repetitions import BY_DAY, NIGHTLY

# A machine that is slow for a moment must not fail a test, so there is no deadline. What Hypothesis sets by itself
# where CI is set stays: the same examples each time.
settings.register_profile(BY_DAY, deadline=None, max_examples=50)
settings.register_profile(NIGHTLY, deadline=None)
settings.load_profile(BY_DAY)

# A shell starts background jobs with SIGINT ignored, and these pass that on to all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test leaves a process behind; tests of the daemon have one of their own.
os.environ["KAFKACHECK_DAEMON"] = "no"

pytest_plugins = [
    "tests.support.failures_at_once",
    "tests.support.loaded_modules",
    "tests.support.time_by_folder",
]

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference cases beside the project; a test that needs it is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("the reference cases that lie beside the project are not here")
    return SHARED


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> work_units.WorkUnits:
    return work_units.WorkUnits(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # Eight runs of 40 s. By day, tests/cluster/test_recorder.py and test_faulty_clients.py find lost writes.
        if item.path.match("examples/test_matrix.py"):
            item.add_marker(NIGHTLY)
    if hasattr(config, "workerinput"):
        if work_units.is_light_worker(config.workerinput["workerid"], config.workerinput["workercount"]):
            os.nice(work_units.LOW)
        items.sort(key=lambda item: work_units.rank(item.nodeid))
