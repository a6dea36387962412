"""The mutants of tests/data/mutants are noticed by tests of `make test`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.mutation.listed import LISTS

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("file", sorted(LISTS.glob("*.toml")), ids=lambda file: file.stem)
def test_each_is_noticed(file: Path) -> None:
    """In a process of its own, because it alters what this one has imported."""
    call = [sys.executable, "-m", "tests.support.mutation.session", str(file)]
    done = subprocess.run(call, cwd=LISTS.parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
