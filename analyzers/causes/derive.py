"""Groups the findings of a run by what caused them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analyzers.causes.evidence import Explanation, Extent, LogEvidence, RunEvidence
from analyzers.causes.follower_reads import follower_reads
from analyzers.causes.group_handover import group_handover
from analyzers.causes.other import duplicate_delivery, unknown
from analyzers.causes.truncation import truncations
from analyzers.causes.two_leaders import two_leaders
from analyzers.verdict.cause import Cause

OF_LOGS: tuple[Callable[[LogEvidence, RunEvidence], Iterator[Explanation]], ...] = (
    truncations,
    two_leaders,
    follower_reads,
)
"""Each may explain findings of one log that those before it do not explain."""

OF_RUNS: tuple[Callable[[Sequence[Extent], RunEvidence], Explanation | None], ...] = (
    duplicate_delivery,
    group_handover,
)
"""Each may explain findings of any logs that those before it do not explain."""


def derive(run: RunEvidence) -> tuple[Cause, ...]:
    """The causes with the most findings first; every finding is under exactly one cause, and those that nothing
    explains are under the last, of the kind ``unknown``."""
    rest = list(run.extents)
    causes: list[Cause] = []
    for log in sorted({each.log for each in run.extents if each.log is not None}):
        for explain in OF_LOGS:
            of_log = [each for each in rest if each.log == log]
            evidence = LogEvidence(
                log=log, extents=of_log, changes=run.changes.get(log, []), sources=run.sources.get(log, [])
            )
            for cause, explained in explain(evidence, run):
                causes.append(cause)
                rest = [each for each in rest if each not in explained]
    for explain_run in OF_RUNS:
        if (of_run := explain_run(rest, run)) is not None:
            causes.append(of_run.cause)
            rest = [each for each in rest if each not in of_run.extents]
    causes.sort(key=lambda cause: -sum(cause.findings.values()))
    return (*causes, *([unknown(rest, run)] if rest else []))
