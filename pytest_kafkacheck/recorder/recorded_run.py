"""The run of a test with clients of its own: it has a verdict like every run, and only its test can run it again."""

from __future__ import annotations

import shlex
from pathlib import Path

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.run import Run


class RecordedRun(Run):
    """test: its node id."""

    def __init__(self, path: Path, verdict: Verdict, *, test: str) -> None:
        super().__init__(path, verdict)
        self._test = test

    def replay(self) -> str:
        """The command that runs the test again. What it sends, and which nodes its faults hit, it decides anew."""
        return (
            f"pytest {shlex.quote(self._test)}  (the test's own clients: kafkacheck replay cannot run them)"
        )
