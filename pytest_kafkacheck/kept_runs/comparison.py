"""Two kept runs side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kafkacheck.kept_runs.figures import figures
from pytest_kafkacheck.kept_runs.run_summary import RunSummary

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
