"""The verdicts and figures of one test over its kept runs, and since when it is bad."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pytest_kafkacheck.kept_runs.figures import Figures, figures
from pytest_kafkacheck.kept_runs.run_summary import NOT_JUDGED, RunSummary

SHOWN = ("acks_per_second", "latency_99", "longest_wait")
"""The figures that tables have; the JSON has all."""


@dataclass(frozen=True, kw_only=True)
class Trend:
    """Of runs in order of time. A run is bad if its verdict is not the expected one; a run without a verdict is
    neither good nor bad."""

    runs: tuple[RunSummary, ...]
    figures: tuple[Figures, ...]

    @property
    def judged(self) -> list[RunSummary]:
        return [run for run in self.runs if run.result != NOT_JUDGED]

    @property
    def bad(self) -> list[RunSummary]:
        return [run for run in self.judged if not run.is_as_expected]

    @property
    def flake_rate(self) -> float | None:
        """The share of bad runs in versions that had both good and bad ones; 0 where no version had both. None
        without a judged run. A version that is always bad does not flake, it is broken."""
        if not self.judged:
            return None
        mixed = [
            runs for runs in self._by_version().values() if len({run.is_as_expected for run in runs}) == 2
        ]
        bad = sum(not run.is_as_expected for runs in mixed for run in runs)
        return bad / max(1, sum(map(len, mixed)))

    @property
    def first_bad(self) -> RunSummary | None:
        """The first run of the bad ones at the end, after a good one. None if the last run is good, or none was."""
        tail: RunSummary | None = None
        for run in reversed(self.judged):
            if run.is_as_expected:
                return tail
            tail = run
        return None

    @property
    def first_bad_version(self) -> str | None:
        """The lowest Kafka release above a release whose runs are all good, from which on all runs are bad. None if
        there is no such boundary."""
        versions = sorted(self._by_version().items(), key=lambda each: _number(each[0]))
        found: str | None = None
        for version, runs in reversed(versions):
            if all(run.is_as_expected for run in runs):
                return found
            if any(run.is_as_expected for run in runs):
                return None
            found = version
        return None

    @property
    def summary(self) -> list[str]:
        """Sentences for people."""
        if self.flake_rate is None:
            return [f"none of {len(self.runs)} runs is judged"]
        lines = [
            f"bad {len(self.bad)} of {len(self.judged)} judged runs; flake rate {100 * self.flake_rate:.0f} % "
            f"(in Kafka releases with good and bad runs)"
        ]
        if self.first_bad is not None:
            lines.append(f"first bad run after the last good one: {self.first_bad.path}")
        if self.first_bad_version is not None:
            lines.append(f"first bad Kafka release: {self.first_bad_version}")
        return lines

    def _by_version(self) -> dict[str, list[RunSummary]]:
        found: dict[str, list[RunSummary]] = {}
        for run in self.judged:
            found.setdefault(run.version, []).append(run)
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": [
                {**run.to_json(), **each.to_json()} for run, each in zip(self.runs, self.figures, strict=True)
            ],
            "judged": len(self.judged),
            "bad": len(self.bad),
            "flake_rate": self.flake_rate,
            "first_bad": None if self.first_bad is None else self.first_bad.run,
            "first_bad_version": self.first_bad_version,
        }


def trend(runs: Iterable[RunSummary]) -> Trend:
    """runs: in order of time."""
    chosen = tuple(runs)
    return Trend(runs=chosen, figures=tuple(map(figures, chosen)))


def of_test(runs: Sequence[RunSummary], pattern: str) -> list[RunSummary]:
    """The runs of the tests whose name matches, such as ``test_orders`` or ``demo-*``."""
    return [run for run in runs if run.name == pattern or fnmatchcase(run.name, pattern)]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
