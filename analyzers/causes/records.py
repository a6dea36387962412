"""The records that explainers examine: what a history may have or lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analyzers.causes.evidence import Extent, RunEvidence, logs_of


@dataclass(frozen=True, kw_only=True)
class Records:
    name: str
    """A plural, for a sentence: ``examined: samples of brokers``."""
    are_there: Callable[[RunEvidence, Sequence[Extent]], bool]
    """Whether the run has any that concern these findings."""


SAMPLES = Records(
    name="samples of brokers (leaders, ISRs, ends of logs)",
    are_there=lambda run, extents: any(run.changes.get(log) for log in logs_of(extents)),
)
SOURCES = Records(
    name="the brokers that served sessions",
    are_there=lambda run, extents: any(run.sources.get(log) for log in logs_of(extents)),
)
ASSIGNMENTS = Records(
    name="assignments of partitions to members", are_there=lambda run, _: bool(run.assignments)
)
