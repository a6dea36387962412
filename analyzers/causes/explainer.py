"""What a file of `analyzers.causes.explainers` declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from analyzers.causes.evidence import Explanation, LogEvidence, RunEvidence, logs_of
from analyzers.causes.kind import CauseKind
from analyzers.causes.records import Records


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
