"""Finds the runs and the checks with which an analysis crashes, so that all others are still judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.check import Check
from analyzers.history.sources import Location
from analyzers.history.surroundings import Surroundings
from analyzers.judge.analyze import analyze, judge_examined
from analyzers.judge.cycles import TRANSACTIONS, Unsearched
from analyzers.judge.examine import Examination, applies, examine
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
    surroundings: Mapping[str, Surroundings],
) -> dict[Location, dict[str, Verdict]]:
    """Verdicts by directory and run id. Judges all together; if that crashes, each half, down to a single directory.

    runs    directory to the ids of its runs, no id in two of them.
    bounds, surroundings  by run id.
    """
    homes = list(runs)
    try:
        verdicts = analyze(
            sessions(),
            homes,
            examples=examples,
            checks=checks,
            bounds=bounds,
            surroundings=surroundings,
            strict=True,
        )
    except Exception as error:
        # Also forgets a JVM that has ended, so that the next session starts another.
        describe(error)
        if len(homes) == 1:
            (home,) = homes
            return {home: _check_by_check(sessions, home, runs[home], examples, checks, bounds, surroundings)}
        middle = len(homes) // 2
        first, second = (
            judge_isolated(
                sessions,
                {home: runs[home] for home in half},
                examples=examples,
                checks=checks,
                bounds=bounds,
                surroundings=surroundings,
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
    surroundings: Mapping[str, Surroundings],
) -> dict[str, Verdict]:
    """The verdicts on one directory with which the whole analysis crashes: first without checks, then with each, and
    then the reports on all that was found."""
    names = sorted(runs)

    def part(**given: Any) -> Examination:
        usual: dict[str, Any] = {"examples": examples, "checks": (), "cycles": False}
        return examine(sessions(), [home], **usual | given)

    try:
        base = part(reports=False)
    except Exception as error:
        why = f"The analysis crashed: {describe(error)}. Nothing is known about this run."
        return {run: judge(run, unknowns=[why]) for run in names}
    found, unsearched, crashed = list(base.found), list(base.unsearched), dict[str, list[str]]()
    for name, of_part in _parts(base, checks, bounds):
        try:
            examined = part(reports=False, strict=True, **of_part)
        except Exception as error:
            crashed.setdefault(describe(error), []).append(name)
        else:
            found += examined.found
            unsearched += examined.unsearched
    try:
        whole = part(found=found, strict=True)
    except Exception as error:
        sentence = (
            f"The reports on availability, staleness, propagation and causes crashed: {describe(error)}"
        )
        whole = replace(base, found=found)
        unsearched.append(Unsearched(run=None, judged=False, sentence=sentence))
    whole = replace(whole, unsearched=[*unsearched, *whole.unsearched])
    verdicts = judge_examined(whole, bounds=bounds, surroundings=surroundings)
    return {
        run: amended(verdicts[run], unknowns=[*map(_sentence, crashed, crashed.values())]) for run in names
    }


def _parts(
    base: Examination, checks: Sequence[Check], bounds: Mapping[str, Bounds]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is examined alone: the name, and arguments of `examine`."""
    kinds = [each.kinds() for each in base.tallies.values()]
    for check in checks:
        if any(applies(check, of_run) for of_run in kinds):
            yield check.name, {"checks": [check]}
    if bounds:
        yield "bounds", {"bounds": bounds}
    if any(TRANSACTIONS in of_run for of_run in kinds):
        yield "cycles of transactions", {"cycles": True}


def _sentence(why: str, parts: Sequence[str]) -> str:
    check, it = ("checks", "they") if len(parts) > 1 else ("check", "it")
    return (
        f"The {check} {', '.join(parts)} crashed: {why}. Whether {it} would have found anything is unknown."
    )
