"""A program is killed after its first line, and what the line says is returned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from nemesis.tasks import wait_until
from pytest_kafkacheck.claims.killed_program import killed_after_a_line

SAYS_AND_GOES_ON = """
import json, os, sys
print(json.dumps([os.getpid(), *json.loads(sys.argv[1])]), flush=True)
sys.stdin.read()
"""


def require(condition: Callable[[], bool], limit: float, what: str) -> None:
    assert wait_until(condition, limit=limit), what


CONTEXT: Any = SimpleNamespace(require=require)


def test_a_program_is_killed_after_its_first_line() -> None:
    pid, *arguments = killed_after_a_line(CONTEXT, SAYS_AND_GOES_ON, {"a": 1}, 2, until="it says its id")
    assert arguments == [{"a": 1}, 2]
    assert not psutil.pid_exists(pid)


def test_a_program_that_ends_by_itself_says_nothing() -> None:
    assert killed_after_a_line(CONTEXT, "raise SystemExit(1)", until="never") is None


def test_a_program_that_says_nothing_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_kafkacheck.claims.killed_program.LIMIT", 2.0)
    note = tmp_path / "pid"
    program = f"import os, sys; open({str(note)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"
    with pytest.raises(AssertionError, match="never"):
        killed_after_a_line(CONTEXT, program, until="never")
    assert not psutil.pid_exists(int(note.read_text()))
