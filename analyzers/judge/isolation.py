"""Finds the runs and the checks with which an analysis crashes, so that all others are still judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.check import Check
from analyzers.history.sources import Location
from analyzers.judge.analyze import analyze
from analyzers.judge.failures import describe
from analyzers.verdict.verdict import Verdict, amended, judge

Sessions = Callable[[], SparkSession]
"""Returns a session that works: the existing one, or a new one if its JVM has ended."""


def judge_isolated(
    sessions: Sessions,
    runs: Mapping[Location, frozenset[str]],
    *,
    examples: int,
    checks: Sequence[Check],
    bounds: Mapping[str, Bounds],
) -> dict[Location, dict[str, Verdict]]:
    """Verdicts by directory and run id. Judges all together; if that crashes, each half, down to a single directory.

    runs    directory to the ids of its runs, no id in two of them.
    bounds  by run id.
    """
    homes = list(runs)
    try:
        verdicts = analyze(sessions(), homes, examples=examples, checks=checks, bounds=bounds, strict=True)
    except Exception as error:
        # Also forgets a JVM that has ended, so that the next session starts another.
        describe(error)
        if len(homes) == 1:
            (home,) = homes
            return {home: _check_by_check(sessions, home, runs[home], examples, checks, bounds)}
        middle = len(homes) // 2
        first, second = (
            judge_isolated(
                sessions, {home: runs[home] for home in half}, examples=examples, checks=checks, bounds=bounds
            )
            for half in (homes[:middle], homes[middle:])
        )
        return first | second
    return {home: {run: verdicts[run] for run in sorted(of)} for home, of in runs.items()}


def _check_by_check(
    sessions: Sessions,
    home: Location,
    runs: frozenset[str],
    examples: int,
    checks: Sequence[Check],
    bounds: Mapping[str, Bounds],
) -> dict[str, Verdict]:
    """The verdicts on one directory with which the whole analysis crashes: first without checks, then with each."""
    names = sorted(runs)
    try:
        verdicts = analyze(sessions(), [home], examples=0, checks=[])
    except Exception as error:
        why = f"The analysis crashed: {describe(error)}. Nothing is known about this run."
        return {run: judge(run, unknowns=[why]) for run in names}
    parts: list[tuple[str, Sequence[Check], Mapping[str, Bounds]]] = [
        (check.name, [check], {}) for check in checks
    ]
    if bounds:
        parts.append(("bounds", [], bounds))
    crashed: dict[str, list[str]] = {}
    for name, some, stated in parts:
        try:
            of_part = analyze(sessions(), [home], examples=examples, checks=some, bounds=stated, strict=True)
        except Exception as error:
            crashed.setdefault(describe(error), []).append(name)
        else:
            verdicts = {
                run: amended(verdict, findings=of_part[run].findings, unknowns=of_part[run].unknowns)
                for run, verdict in verdicts.items()
            }
    for why, group in crashed.items():
        check, it = ("checks", "they") if len(group) > 1 else ("check", "it")
        checks_text = ", ".join(group)
        sentence = (
            f"The {check} {checks_text} crashed: {why}. Whether {it} would have found anything is unknown."
        )
        verdicts = {run: amended(verdicts[run], unknowns=[sentence]) for run in names}
    return verdicts
