"""A finished run: its directory and its verdict, as tests and the command line use them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from analyzers.catalogue.registry import ANOMALIES
from analyzers.causes.story import story
from analyzers.verdict.summary import one_line
from analyzers.verdict.verdict import Verdict
from nemesis.validation import near_or_all
from pytest_kafkacheck.errors import UsageError, VerdictError
from pytest_kafkacheck.kept_runs.run_summary import NAME


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
        """Raise VerdictError with the evidence unless no promise was found broken and all that the experiment
        requires was exercised.

        unknown  accept "unknown" too: nothing wrong was found, but not everything was exercised. The marker
                 ``kafkacheck(unknown="pass")`` says so for a whole test.
        """
        __tracebackhide__ = True
        self._require("valid", *(["unknown"] if unknown or self.accept_unknown else []))

    def assert_invalid(self, *anomalies: str) -> None:
        """Raise VerdictError unless the verdict is invalid and each of the named anomalies was found.

        Raises UsageError for a name that is no anomaly.
        """
        __tracebackhide__ = True
        for name in anomalies:
            if not isinstance(name, str) or name not in ANOMALIES:
                raise UsageError(f"assert_invalid: no anomaly {name!r}{near_or_all(name, ANOMALIES)}")
        self._require("invalid")
        found = {finding.anomaly for finding in self.verdict.findings if not finding.allowed}
        if missing := [name for name in anomalies if name not in found]:
            self._fail(f"expected also {', '.join(missing)}")

    def assert_unknown(self) -> None:
        """Raise VerdictError unless the verdict is unknown."""
        __tracebackhide__ = True
        self._require("unknown")

    def _require(self, *accepted: str) -> None:
        __tracebackhide__ = True
        if self.verdict.result not in accepted:
            self._fail("" if accepted[0] == "valid" else f"expected {' or '.join(accepted)}")

    def _fail(self, expected: str) -> None:
        """The first line is what pytest's short summary and JUnit's message show."""
        __tracebackhide__ = True
        first = f"{self.headline()}{', ' * bool(expected)}{expected}"
        raise VerdictError("\n".join([first, *self.text().splitlines()[1:]]))

    @property
    def name(self) -> str:
        """Of the experiment or test, as the directory's name has it; empty for another directory."""
        match = NAME.fullmatch(self.path.name)
        return match["name"] if match else ""

    def headline(self) -> str:
        """The result, and the anomalies or the reason that decide it, in one line."""
        return self._verdict.headline()

    def figures(self) -> Iterator[tuple[str, object]]:
        """Name and value of what the run showed, for programs that compare runs.

        Reading them does not count as having looked at the verdict.
        """
        verdict = self._verdict
        found = ", ".join(f"{each.anomaly} {each.count}" for each in verdict.findings if not each.allowed)
        yield "kafkacheck_anomalies", found or "none"
        yield "kafkacheck_acknowledged", verdict.exercised.acks
        yield "kafkacheck_faults", len(verdict.exercised.faults)
        waits = [log.longest_wait for log in verdict.availability.logs]
        yield "kafkacheck_longest_wait_s", round(max(waits, default=0.0), 1)

    def one_line(self) -> str:
        """What the run showed, in one line."""
        return one_line(self._verdict)

    def text(self) -> str:
        """The verdict as a story of about 15 lines, with the commands that show more and that run it again."""
        lines = [story(self._verdict, name=self.name)]
        if self._verdict.findings:
            lines.append(f"   more   {self.explain()}")
        elif self._verdict.result == "valid" or str(self.path) not in self.replay():
            lines.append(f"   kept   {self.path}")
        return "\n".join([*lines, f"   again  {self.replay()}"])

    def details(self) -> str:
        """Every finding with its examples, what was exercised, and availability."""
        return self._verdict.text()

    def explain(self) -> str:
        """The command that shows the evidence as a time line."""
        return f"kafkacheck explain {shlex.quote(str(self.path))}"

    def replay(self) -> str:
        """The command that runs the experiment again, with the same nodes as targets."""
        return f"kafkacheck replay {shlex.quote(str(self.path))}"
