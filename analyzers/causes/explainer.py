"""What a file of `analyzers.causes.explainers` declares, and the records that explainers examine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from analyzers.causes.cuts import PROOF
from analyzers.causes.evidence import Explanation, Extent, LogEvidence, RunEvidence, logs_of
from analyzers.causes.kind import CauseKind


@dataclass(frozen=True, kw_only=True)
class Explainer:
    """Establishes causes of a few kinds.

    rank      those with lower ranks come first: each sees the findings that none before it explained.
    kinds     the kinds of cause that it establishes.
    examines  the records that it needs. Findings whose cause is not determined say which of them were there.
    explain   yields an explanation for each event that it establishes. `derive` makes one cause of those of a kind.
    """

    rank: int
    kinds: tuple[CauseKind, ...]
    examines: tuple[Records, ...]
    explain: Callable[[RunEvidence], Iterable[Explanation]]

    @property
    def explains(self) -> frozenset[str]:
        """Anomalies."""
        return frozenset[str]().union(*(kind.explains for kind in self.kinds))


def by_log(
    explain: Callable[[LogEvidence, RunEvidence], Iterable[Explanation]],
) -> Callable[[RunEvidence], Iterator[Explanation]]:
    """For an explainer that looks at one log after another."""

    def explain_each(run: RunEvidence) -> Iterator[Explanation]:
        for log in logs_of(run.extents):
            yield from explain(run.of_log(log), run)

    return explain_each


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
