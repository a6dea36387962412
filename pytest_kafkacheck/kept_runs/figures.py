"""The figures of kept runs: throughput, latencies and waits; of two side by side, and of one test over its runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pytest_kafkacheck.kept_runs.run_summary import NOT_JUDGED, RunSummary

LOADED = ("steady", "faults", "recovery")
"""Phases of a run in which clients send."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """None: not measured. Times in s."""

    acks: int | None = None
    acks_per_second: float | None = None
    """Acknowledged sends from the first phase to the final reads, by the time between."""
    latency_median: float | None = None
    """Of the phase with the most sends, like the other latency."""
    latency_99: float | None = None
    longest_wait: float | None = None
    """The longest time that any partition went without an acknowledgement."""
    worst_lag: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def figures(run: RunSummary) -> Figures:
    verdict = run.verdict
    availability = verdict.get("availability") or {}
    phases = [each for each in availability.get("phases") or () if isinstance(each, Mapping)]
    main: Mapping[str, Any] = max(phases, key=lambda each: each.get("sends", 0), default={})
    loaded = [each for each in phases if each.get("phase") in LOADED]
    acks = sum(each.get("sends", 0) - each.get("errors", 0) for each in loaded)
    seconds = load_seconds(run.path) if loaded else None
    waits = [each.get("longest_wait") for each in availability.get("logs") or ()]
    sends = (verdict.get("exercised") or {}).get("sends")
    return Figures(
        acks=None if sends is None else sends.get("ok", 0),
        acks_per_second=acks / seconds if seconds else None,
        latency_median=main.get("latency_median"),
        latency_99=main.get("latency_99"),
        longest_wait=max((wait for wait in waits if wait is not None), default=None),
        worst_lag=availability.get("worst_lag"),
    )


def load_seconds(run: Path) -> float | None:
    """From the begin of the first phase to that of the final reads. None where the history does not have them."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    began: dict[str, int] = {}
    try:
        for part in sorted((run / "history" / "operations").glob("*.parquet")):
            table = pq.read_table(part, columns=["f", "invoked", "value"])
            table = table.filter(pc.equal(table["f"], "phase"))
            for invoked, value in zip(table["invoked"].to_pylist(), table["value"].to_pylist(), strict=True):
                began.setdefault(json.loads(value)["phase"], invoked)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None
    first = min((began[phase] for phase in LOADED if phase in began), default=None)
    if first is None or "final" not in began or began["final"] <= first:
        return None
    return (began["final"] - first) / 1e9


NAMES = {
    "acks": "acknowledged",
    "acks_per_second": "acks/s",
    "latency_median": "latency, median",
    "latency_99": "latency, 99 %",
    "longest_wait": "longest wait",
    "worst_lag": "worst lag",
}
"""Fields of `Figures` to what tables call them."""


def figure_text(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name in ("acks", "acks_per_second"):
        return f"{value:,.0f}"
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"


Pair = tuple[Any, Any]
"""A value of either run; None where a run does not have it."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    runs: tuple[RunSummary, RunSummary]
    settings: Mapping[str, Pair]
    """Those that differ, by their path in experiment.json and environment.json, such as ``workload.acks``."""
    figures: Mapping[str, Pair]
    findings: Mapping[str, tuple[int, int]]
    """Anomaly to its count in either run."""

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": [run.to_json() for run in self.runs],
            "settings": {name: [*pair] for name, pair in self.settings.items()},
            "figures": {name: [*pair] for name, pair in self.figures.items()},
            "findings": {name: [*pair] for name, pair in self.findings.items()},
        }


def compare(one: RunSummary, other: RunSummary) -> Comparison:
    first, second = (dict(_settings(run)) for run in (one, other))
    figures_of = [figures(run).to_json() for run in (one, other)]
    anomalies = dict.fromkeys([*one.anomalies, *other.anomalies])
    return Comparison(
        runs=(one, other),
        settings={
            name: (first.get(name), second.get(name))
            for name in dict.fromkeys([*first, *second])
            if first.get(name) != second.get(name)
        },
        figures={name: (value, figures_of[1][name]) for name, value in figures_of[0].items()},
        findings={name: (one.anomalies.get(name, 0), other.anomalies.get(name, 0)) for name in anomalies},
    )


def _settings(run: RunSummary) -> Iterator[tuple[str, Any]]:
    """What is named by the user differs between all runs, and says nothing of the cluster."""
    for name, value in run.experiment.items():
        if name not in ("name", "format"):
            yield from _leaves(name, value)
    environment = run.environment
    for name in ("kafkacheck", "clients", "python", "host"):
        yield from _leaves(f"environment.{name}", environment.get(name))


def _leaves(path: str, value: object) -> Iterator[tuple[str, Any]]:
    """Faults by their id, so that one more of them is one line."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}", inner)
    elif path == "faults" and isinstance(value, list):
        for event in value:
            named = event.get("id", "?") if isinstance(event, Mapping) else "?"
            yield f"faults.{named}", json.dumps(event, sort_keys=True)
    else:
        yield path, value


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
