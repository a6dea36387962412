"""An inner session of pytester leaves no second copy of our modules behind."""

from __future__ import annotations

import sys
from typing import Any

import pytest

MODULE = "workloads.conformance"


@pytest.fixture
def loaded_inside(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """An inner session has loaded a module that was not loaded before."""
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.delattr(MODULE, raising=False)
    pytester.makepyfile(f"import {MODULE}\ndef test_it(): assert {MODULE}")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    assert MODULE not in sys.modules


def test_a_package_forgets_what_an_inner_session_loaded(loaded_inside: None) -> None:  # noqa: ARG001
    import workloads
    from tests.support.loaded_modules import forget_removed_modules

    package: Any = workloads
    assert package.conformance
    forget_removed_modules()
    assert not hasattr(workloads, "conformance")
