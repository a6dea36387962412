"""Many runs in one Spark application, none of which takes another with it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS
from analyzers.history import remote
from analyzers.history.bad_history import BadHistory
from analyzers.history.sources import Location, is_uri, name_of
from analyzers.history.validate import cut_segments, run_ids
from analyzers.judge.analyze import analyze
from analyzers.spark.error_summary import error_summary
from analyzers.spark.session import forget_dead_jvm
from analyzers.verdict.verdict import Verdict, amended, judge

DYING = 20.0
"""Seconds that a JVM which ran out of memory is given to end. Spark's own sense of it leaves it running."""

Sessions = Callable[[], SparkSession]
"""A session in which a query runs: the one there is, or a new one where its JVM has died."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    home: Location
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By run id; of a directory with a problem the one verdict that it is unknown, by the directory's name."""
    problem: str | None = None
    """File, row and reason, where this is no history."""


def analyze_all(
    sessions: Sessions,
    homes: Sequence[Location],
    *,
    examples: int = 8,
    checks: Sequence[Check] = CHECKS,
    bounds: Mapping[Location, Bounds] = MappingProxyType({}),
) -> list[Judged]:
    """Judge run directories, paths or URIs, in their order: together where all goes well.

    bounds  how long clients may be kept waiting, by directory; one that is not named has no bounds.

    What is no history is told so, by file, row and reason. Where an analysis dies, of memory say, the runs
    are judged in halves, then alone, then check by check; what still dies is unknown, with the reason, and
    what the other checks find of that run counts.
    """
    runs: dict[Location, frozenset[str]] = {}
    problems: dict[Location, str] = {}
    for home in homes:
        try:
            runs[home] = remote.run_ids(sessions(), str(home)) if is_uri(home) else run_ids(Path(home))
        except BadHistory as error:
            problems[home] = str(error)
    found: dict[Location, dict[str, Verdict]] = {}
    with _quiet():
        for together in _disjoint(runs):
            group = {home: runs[home] for home in together}
            stated = {run: bounds[home] for home, of in group.items() for run in of if home in bounds}
            found |= _halving(sessions, group, examples, checks, stated)
    return [
        unjudged(home, problems[home])
        if home in problems
        else Judged(
            home=home, verdicts={run: _with_cuts(sessions, home, one) for run, one in found[home].items()}
        )
        for home in homes
    ]


def unjudged(home: Location, problem: str) -> Judged:
    """What is said of a directory that holds no history."""
    unknown = judge(name_of(home), unknowns=[f"The history cannot be judged: {problem}"])
    return Judged(home=home, verdicts={name_of(home): unknown}, problem=problem)


def _disjoint(runs: Mapping[Location, frozenset[str]]) -> Iterator[list[Location]]:
    """Directories in groups without a run in common: a copy of a run, judged with it, would double its rows."""
    rest = list(runs)
    while rest:
        group: list[Location] = []
        later: list[Location] = []
        seen: set[str] = set()
        for home in rest:
            if seen & runs[home]:
                later.append(home)
            else:
                group.append(home)
                seen |= runs[home]
        yield group
        rest = later


def _halving(
    sessions: Sessions,
    runs: Mapping[Location, frozenset[str]],
    examples: int,
    checks: Sequence[Check],
    bounds: Mapping[str, Bounds],
) -> dict[Location, dict[str, Verdict]]:
    homes = list(runs)
    try:
        verdicts = analyze(sessions(), homes, examples=examples, checks=checks, bounds=bounds, strict=True)
    except Exception as error:
        _told(error)
        if len(homes) == 1:
            return {homes[0]: _one_by_one(sessions, homes[0], runs[homes[0]], examples, checks, bounds)}
        middle = len(homes) // 2
        halves = (homes[:middle], homes[middle:])
        first, second = (
            _halving(sessions, {home: runs[home] for home in half}, examples, checks, bounds)
            for half in halves
        )
        return first | second
    return {home: {run: verdicts[run] for run in sorted(_named(home, of))} for home, of in runs.items()}


def _named(home: Location, runs: frozenset[str]) -> frozenset[str]:
    # Tables without any row do not tell a run's id.
    return runs or frozenset([name_of(home)])


def _one_by_one(
    sessions: Sessions,
    home: Location,
    runs: frozenset[str],
    examples: int,
    checks: Sequence[Check],
    bounds: Mapping[str, Bounds],
) -> dict[str, Verdict]:
    """One directory, of which the analysis died as a whole: first without any check, then with each."""
    names = sorted(_named(home, runs))
    try:
        verdicts = analyze(sessions(), [home], examples=0, checks=[])
    except Exception as error:
        why = f"The analysis died: {_told(error)}. Nothing is known of this run."
        return {run: judge(run, unknowns=[why]) for run in names}
    parts: list[tuple[str, Sequence[Check], Mapping[str, Bounds]]] = [
        (check.name, [check], {}) for check in checks
    ]
    if bounds:
        parts.append(("bounds", [], bounds))
    died: dict[str, list[str]] = {}
    for name, some, stated in parts:
        try:
            of_check = analyze(sessions(), [home], examples=examples, checks=some, bounds=stated, strict=True)
        except Exception as error:
            died.setdefault(_told(error), []).append(name)
        else:
            verdicts = {
                run: amended(one, findings=of_check[run].findings, unknowns=of_check[run].unknowns)
                for run, one in verdicts.items()
            }
    for why, those in died.items():
        many = len(those) > 1
        sentence = (
            f"The check{'s' * many} {', '.join(those)} died: {why}. "
            f"Whether {'they' if many else 'it'} would find any is not known."
        )
        verdicts = {run: amended(verdicts[run], unknowns=[sentence]) for run in names}
    return verdicts


def _with_cuts(sessions: Sessions, home: Location, verdict: Verdict) -> Verdict:
    cuts = remote.cut_segments(sessions(), str(home)) if is_uri(home) else cut_segments(Path(home))
    if not cuts:
        return verdict
    why = (
        f"The history was cut: the segments {', '.join(cuts)} end within a batch, so that what was written "
        f"into them last is missing."
    )
    return amended(verdict, unknowns=[why])


def _told(error: Exception) -> str:
    """What an error says in one line, and not a long one: its head, and what caused it in the end.

    Where the JVM dies of it, it is gone afterwards: what is asked of a dying one dies with it.
    """
    try:
        text = str(error)
    except Exception:  # Py4J asks the JVM for it
        text = ""
    # Of several jobs one runs out of memory, and the others find the context stopped under them.
    signs = ("OutOfMemoryError", "stopped SparkContext", "SparkContext was shut down")
    dying = not text or any(sign in text for sign in signs) or isinstance(error, (Py4JNetworkError, OSError))
    died = forget_dead_jvm(wait=DYING if dying else 0)
    if died is not None:
        return died
    return f"{type(error).__name__}: {error_summary(text) or 'no reason was told'}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Py4J logs a lost connection with its whole traceback, besides raising it."""

    def ours(record: logging.LogRecord) -> bool:
        return "while sending command" not in record.getMessage()

    loggers = [
        logging.getLogger(),
        logging.getLogger("py4j.java_gateway"),
        logging.getLogger("py4j.clientserver"),
    ]
    for logger in loggers:
        logger.addFilter(ours)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(ours)
