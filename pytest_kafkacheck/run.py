"""A finished run: its directory and its verdict, as tests and the command line use them."""

from __future__ import annotations

import shlex
from pathlib import Path

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.errors import VerdictError


class Run:
    """What `kafkacheck(experiment)` returns.

    path      directory: experiment.json, environment.json, history/, logs/, verdict.json.
    verdict   the verdict; reading it counts as having looked at it, see `looked_at`.
    """

    def __init__(self, path: Path, verdict: Verdict) -> None:
        self.path = path
        self.looked_at = False
        self.accept_unknown = False
        self._verdict = verdict

    @property
    def result(self) -> str:
        """valid, invalid or unknown. For reports: reading it does not count as having looked at the verdict."""
        return self._verdict.result

    @property
    def verdict(self) -> Verdict:
        self.looked_at = True
        return self._verdict

    def assert_valid(self, *, unknown: bool = False) -> None:
        """Raise VerdictError with the evidence unless every promise was exercised and held.

        unknown  accept "unknown" too: nothing wrong was found, but not everything was exercised. The marker
                 ``kafkacheck(unknown="pass")`` says so for a whole test.
        """
        __tracebackhide__ = True
        self._require("valid", *(["unknown"] if unknown or self.accept_unknown else []))

    def assert_invalid(self, *anomalies: str) -> None:
        """Raise VerdictError unless the verdict is invalid and each of the named anomalies was found."""
        __tracebackhide__ = True
        self._require("invalid")
        found = {finding.anomaly for finding in self.verdict.findings if not finding.allowed}
        if missing := [name for name in anomalies if name not in found]:
            raise VerdictError(f"expected {', '.join(missing)} among the findings\n{self.text()}")

    def assert_unknown(self) -> None:
        """Raise VerdictError unless the verdict is unknown."""
        __tracebackhide__ = True
        self._require("unknown")

    def _require(self, *accepted: str) -> None:
        __tracebackhide__ = True
        if self.verdict.result not in accepted:
            raise VerdictError(f"expected the verdict {' or '.join(accepted)}\n{self.text()}")

    def text(self) -> str:
        """The verdict with its evidence, where the run is kept, and how to run it again."""
        return f"{self._verdict.text()}\nkept in:      {self.path}\nrun again:    {self.replay()}"

    def replay(self) -> str:
        """The command that runs the experiment again, with the same nodes as targets."""
        return f"kafkacheck replay {shlex.quote(str(self.path))}"
