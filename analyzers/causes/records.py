"""The records that explainers examine: what a history may have or lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analyzers.causes.cuts import PROOF
from analyzers.causes.evidence import Extent, RunEvidence, logs_of


@dataclass(frozen=True, kw_only=True)
class Records:
    name: str
    """A plural, for a sentence: ``examined: samples of brokers``."""
    are_there: Callable[[RunEvidence, Sequence[Extent]], bool | None]
    """Whether the run has any that concern these findings; None where they were not examined for them."""


def _has_epochs(run: RunEvidence, extents: Sequence[Extent]) -> bool | None:
    """They are examined only where no samples say where a log was cut."""
    logs = logs_of(each for each in extents if each.anomaly in PROOF and not run.changes.get(each.log or ""))
    return any(run.epochs.get(log) for log in logs) if logs else None


SAMPLES = Records(
    name="samples of brokers (leaders, ISRs, ends of logs)",
    are_there=lambda run, extents: any(run.changes.get(log) for log in logs_of(extents)),
)
BROKER_LOGS = Records(name="logs of brokers", are_there=lambda run, _: run.logs is not None)
EPOCHS = Records(
    name="leader epochs of polled records",
    are_there=lambda run, extents: _has_epochs(run, extents),
)
SOURCES = Records(
    name="the brokers that served sessions",
    are_there=lambda run, extents: any(run.sources.get(log) for log in logs_of(extents)),
)
ASSIGNMENTS = Records(
    name="assignments of partitions to members", are_there=lambda run, _: bool(run.assignments)
)
