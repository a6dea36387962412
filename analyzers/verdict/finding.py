"""A finding: one kind of anomaly in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from analyzers.catalogue.anomaly import Severity
from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.measures import require_numbers

SEVERITIES = get_args(Severity)
"""Worst first."""


def rank(anomaly: str) -> tuple[int, int]:
    """A key to sort anomalies by: worst first, then as in the catalogue."""
    return SEVERITIES.index(ANOMALIES[anomaly].severity), list(ANOMALIES).index(anomaly)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One kind of anomaly in one run."""

    anomaly: str
    count: int
    """The exact number of occurrences, however few of them are in `examples`."""
    summary: str
    allowed: bool = False
    """Reported, but without effect on the result."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """The first occurrences in time. Keys of every example: those of the anomaly's subject (mostly topic and
    partition), time (s since the run's first operation; null if unknown), faults (the names of those active at that
    time, or since the anomaly began, see `Anomaly.since`). The catalogue explains the other keys of each anomaly."""

    def __post_init__(self) -> None:
        if self.anomaly not in ANOMALIES:
            raise ValueError(f"anomaly: expected one of {', '.join(ANOMALIES)}, got {self.anomaly!r}")
        if self.count < max(1, len(self.examples)):
            raise ValueError(
                f"count: expected at least 1 and the number of examples ({len(self.examples)}), "
                f"got {self.count}"
            )

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Finding:
        """From the JSON object of a stored verdict. Raises ValueError or TypeError for any other object."""
        finding = cls(**{**data, "examples": tuple(data["examples"])})
        for example in finding.examples:
            if not isinstance(example, Mapping):
                raise TypeError(f"an example of {finding.anomaly}: expected an object, got {example!r}")
            require_numbers(finding.anomaly, example.get("time"))
        return finding

    @property
    def severity(self) -> Severity:
        return ANOMALIES[self.anomaly].severity
