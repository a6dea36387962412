"""What the verdict of a run says about the anomaly that shrink looks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import Verdict
from nemesis.shrink.reductions import Evidence
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.run_directory import RunDirectory

SLACK = 1.0
"""Seconds. A fault may lose what was acknowledged just before it."""


def read_verdict(run: Path) -> Verdict:
    """Raises UsageError when there is none."""
    file = RunDirectory(run).verdict
    try:
        return Verdict.from_json(file.read_text())
    except OSError:
        raise UsageError(f"{run}: has no verdict yet; judge it first: kafkacheck analyze {run}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{file}: not a verdict of this kafkacheck ({error!r}); judge it again: kafkacheck analyze {run}"
        ) from error


def anomalies(verdict: Verdict) -> frozenset[str]:
    """Names of the anomalies that make a verdict invalid."""
    return frozenset(each.anomaly for each in _counted(verdict))


def by_rank(verdict: Verdict) -> tuple[str, ...]:
    """The same names, the gravest first."""
    return tuple(dict.fromkeys(each.anomaly for each in _counted(verdict)))


def evidence(verdict: Verdict, names: Iterable[str]) -> Evidence:
    """The events that were active when the anomalies were first seen, and those that began after the last example."""
    wanted = frozenset(names)
    times = [
        example["time"]
        for finding in _counted(verdict)
        for example in finding.examples
        if finding.anomaly in wanted and example.get("time") is not None
    ]
    if not times:
        return Evidence()
    first, last = min(times), max(times)
    began = [each for each in verdict.exercised.faults if each.began is not None]
    return Evidence(
        suspects=frozenset(
            each.event
            for each in began
            if each.began is not None
            and each.began - SLACK <= first
            and (each.ended is None or first <= each.ended + SLACK)
        ),
        later=frozenset(each.event for each in began if each.began is not None and each.began - SLACK > last),
    )


def _counted(verdict: Verdict) -> Iterator[Finding]:
    return (each for each in verdict.findings if not each.allowed and each.severity == "invalid")
