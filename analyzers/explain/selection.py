"""The findings of a run that are to be explained."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from analyzers.catalogue.check import NONE, Bounds
from analyzers.catalogue.registry import CHECKS, bound_checks
from analyzers.explain.explain import explain
from analyzers.explain.explanation import Explanation
from analyzers.history.incarnations import by_incarnation, cuts, topic_changes
from analyzers.history.load import History, load, release
from analyzers.history.sources import Location, sources
from analyzers.judge.cycles import CYCLES, find_cycles
from analyzers.judge.examples import computed_example
from analyzers.judge.find import Found, find
from analyzers.verdict.finding import rank
from analyzers.verdict.verdict import Verdict


class CannotExplain(LookupError):
    """The search for the finding failed. The message says why."""


class NoSuchFinding(CannotExplain):
    """The search succeeded, but the run has no such finding."""


def explanations(
    spark: SparkSession,
    run: Location,
    *,
    anomaly: str | None = None,
    number: int = 1,
    bounds: Bounds = NONE,
    around: int = 3,
    stored: Verdict | None = None,
) -> Iterator[Explanation]:
    """Explain occurrence `number` of an anomaly, or for None of each anomaly in the run, worst first.

    run     a directory with the history of one run. bounds  those of the run's experiment: exceeding one is an
    anomaly, too. around  the number of offsets to show on either side. Raises NoSuchFinding if there is no such
    occurrence, and CannotExplain if the search for it failed. For None, anomalies with fewer occurrences are left
    out.

    stored  the run's verdict: an occurrence that is among its examples is not looked for again."""
    directories = sources(spark, [run])
    history = load(spark, directories)
    try:
        logs = by_incarnation(history, cuts(topic_changes(history, directories)))
        known = _stored(stored, anomaly, number)
        began = stored.began if stored is not None and known is not None else None
        for found in [known] if known is not None else _find(logs, anomaly, number, bounds):
            yield explain(logs, found, number, around=around, began=began)
    finally:
        release(spark, history)


def _stored(verdict: Verdict | None, anomaly: str | None, number: int) -> Found | None:
    """The finding of a stored verdict, if the occurrence is among its examples; a cycle has to be searched again."""
    if verdict is None or verdict.began is None or anomaly in (None, *CYCLES):
        return None
    for each in verdict.findings:
        if each.anomaly == anomaly and number <= len(each.examples):
            try:
                examples = [computed_example(anomaly, example, verdict.began) for example in each.examples]
            except (KeyError, TypeError):
                return None  # The verdict is one of another version.
            return Found(run=verdict.run, anomaly=anomaly, count=each.count, examples=tuple(examples))
    return None


def _find(history: History, anomaly: str | None, number: int, bounds: Bounds) -> list[Found]:
    checks = [check for check in (*CHECKS, *bound_checks(bounds)) if anomaly in (None, check.name)]
    found, crashed = find(history, checks, examples=number)
    found += _find_cycles(history, anomaly, number)
    if crashed and not found:
        raise CannotExplain(f"the check {crashed[0].anomaly} crashed: {crashed[0].error}")
    if anomaly is not None and (not found or found[0].count < number):
        count = found[0].count if found else 0
        raise NoSuchFinding(
            f"{anomaly}/{number}: the run has {count:,} finding{'s' * (count != 1)} of this anomaly"
        )
    return sorted((each for each in found if each.count >= number), key=lambda each: rank(each.anomaly))


def _find_cycles(history: History, anomaly: str | None, number: int) -> list[Found]:
    if anomaly not in (None, *CYCLES) or not history.operations.where("f = 'txn'").limit(1).count():
        return []
    found, unsearched = find_cycles(history, examples=number)
    found = [each for each in found if anomaly in (None, each.anomaly)]
    if anomaly is not None and not found and unsearched:
        raise CannotExplain(f"{anomaly}: {unsearched[0].sentence}")
    return found
