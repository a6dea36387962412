"""Shared by all tests: skipping by name what a machine cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference cases beside the project; a test that needs it is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("the reference cases that lie beside the project are not here")
    return SHARED
