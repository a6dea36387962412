"""An interrupt that a test has caught, as tests of signals do, is not one of the tests after it."""

from __future__ import annotations

import sys

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    # Where it was not imported, there is nothing to forget.
    if (termination := sys.modules.get("pytest_kafkacheck.termination")) is not None:
        termination.forget()
