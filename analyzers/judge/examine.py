"""Examines the histories of runs with Spark: the tally, what the checks find, and the reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pyspark.sql import SparkSession

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS, bound_checks
from analyzers.causes.evidence import Extent
from analyzers.facts.registry import NEEDS
from analyzers.history.fault_events import fault_events
from analyzers.history.incarnations import by_incarnation, cuts, recreated, topic_changes
from analyzers.history.load import History, load, release
from analyzers.history.sources import Location, empty_runs, sources
from analyzers.judge.causes import Collected, boundaries_of, collect
from analyzers.judge.cycles import CYCLES, TRANSACTIONS, Unsearched, find_cycles
from analyzers.judge.find import CheckResult, Crashed, find
from analyzers.judge.measures import (
    ApplicationFigures,
    application_figures,
    availabilities,
    measure,
    measured_runs,
    propagations,
    spread,
    stalenesses,
)
from analyzers.judge.scope import known
from analyzers.judge.suspects import find_disordered, find_suspicious_values, with_order
from analyzers.judge.tally import Tally, tally
from analyzers.spark.session import is_alive
from analyzers.verdict.measures import Availability, Propagation, Staleness

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Of several runs; everything by run id."""

    tallies: Mapping[str, Tally]
    applied: Mapping[str, Collection[str]]
    """The anomalies that were looked for and that the run can show."""
    found: Sequence[CheckResult]
    crashed: Sequence[Crashed] = ()
    """Checks of any run."""
    unsearched: Sequence[Unsearched] = ()
    available: Mapping[str, Availability] = field(default_factory=dict)
    late: Mapping[str, Staleness] = field(default_factory=dict)
    propagated: Mapping[str, Propagation] = field(default_factory=dict)
    collected: Mapping[str, Collected] = field(default_factory=dict)
    """Evidence of causes."""
    applications: Mapping[str, ApplicationFigures] = field(default_factory=dict)
    """Those of users."""


def examine(
    spark: SparkSession,
    runs: Sequence[Location],
    *,
    examples: int,
    checks: Sequence[Check] = CHECKS,
    bounds: Bounds | Mapping[str, Bounds] = NONE,
    strict: bool = False,
    cycles: bool = True,
    reports: bool = True,
    found: Sequence[CheckResult] = (),
) -> Examination:
    """Arguments as for `analyze`, and:

    cycles   look for cycles of transactions.
    reports  measure availability, staleness and propagation, and collect evidence of causes. No promise depends on
             these: if one crashes, that is a note. With `strict`, its error is raised if Spark has ended with it.
    found    what was found before in these runs; its causes are looked for as well.
    """
    directories = sources(spark, runs)
    history = load(spark, directories)
    unsearched: list[Unsearched] = []

    def report(
        what: str, job: Callable[[], dict[str, T]], of: Sequence[str | None] = (None,)
    ) -> dict[str, T]:
        if not reports:
            return {}
        try:
            return job()
        except Exception as error:
            if strict and not is_alive(spark):
                raise
            unsearched.extend(
                Unsearched(run=run, judged=False, sentence=crash_note(what, error)) for run in of
            )
            return {}

    try:
        topics = topic_changes(history, directories)
        logs = by_incarnation(history, cuts(topics))
        # These jobs are independent, and for a small history most of the time is spent in Spark's driver.
        with ThreadPoolExecutor(5, thread_name_prefix="kafkacheck-analysis") as pool:
            counting = pool.submit(tally, history)
            looking = pool.submit(find_suspicious_values, logs, checks)
            waiting = pool.submit(measure, history) if reports else None
            # Otherwise these are confined to the sessions and the checks that the tally shows to be needed, and left
            # out if no leader changed.
            is_beside = logs.is_kept and not logs.loaded.has_many_runs
            ordering = pool.submit(find_disordered, logs, checks) if is_beside else None
            spreading = pool.submit(spread, logs) if is_beside and reports else None
            empty = empty_runs(spark, directories, history.loaded.row_counts)
        tallies = {name: Tally() for name in empty} | counting.result()
        for run in recreated(topics) & tallies.keys():
            tallies[run].has_recreation = True
        kinds = {run: each.kinds() for run, each in tallies.items()}
        different = {*kinds.values()}  # of thousands of runs, a few
        every_check = (*checks, *bound_checks(bounds))
        wanted = [check for check in every_check if any(applies(check, some) for some in different)]
        # The tally does not know the incarnations of a topic.
        narrowed = replace(logs, known=known(tallies, knows_logs=logs is history))
        found_now, crashed = find(
            narrowed,
            wanted,
            examples=examples,
            strict=strict,
            first_look=lambda history, asked: with_order(
                looking.result(), history, asked, ordering.result() if ordering else None
            ),
            boundaries={run: boundaries_of(fault_events(each.nemesis)) for run, each in tallies.items()},
        )
        is_transactional = any(TRANSACTIONS in some for some in different)
        if cycles and is_transactional:
            of_cycles, not_searched = _find_cycles(logs, examples, strict=strict)
            found_now += of_cycles
            unsearched += not_searched
        # All runs share one pass, in which a check also examines runs that it does not apply to. A verdict must not
        # depend on the runs beside it, so those results are dropped.
        applicable = {
            some: {check.name for check in wanted if applies(check, some)}
            | (set(CYCLES) if TRANSACTIONS in some else set())
            for some in different
        }
        applied = {run: applicable[of_run] for run, of_run in kinds.items()}
        every = [*found, *(each for each in found_now if each.anomaly in applied[each.run])]
        available = report(
            "report on availability",
            lambda: availabilities(
                waiting.result() if waiting is not None else [],
                {run: each.began for run, each in tallies.items()},
            ),
        )
        with_application = sorted(run for run, each in tallies.items() if each.count("pipeline"))
        of_users = report(
            "report on the application",
            lambda: application_figures(narrowed, with_application),
            with_application,
        )
        for run, application in of_users.items():
            if (still := application.availability(tallies[run].began)) and run in available:
                available[run] = replace(available[run], standstill=still)
        reading = measured_runs(tallies)
        late = report("report on staleness", lambda: stalenesses(narrowed, reading), reading)
        changing = sorted(run for run, each in tallies.items() if each.leader_changes)
        propagated = report(
            "report on propagation",
            lambda: propagations(
                spreading.result() if spreading else spread(logs) if changing else [], changing
            ),
            changing,
        )
        collected = report("search for causes", lambda: _collect(history, every))
        for run, of_run in collected.items():
            unsearched += (
                Unsearched(run=run, judged=False, sentence=each) for each in of_run.changes.doubts()
            )
    finally:
        release(spark, history)
    return Examination(
        tallies=tallies,
        applied=applied,
        found=every,
        crashed=crashed,
        unsearched=unsearched,
        available=available,
        late=late,
        propagated=propagated,
        collected=collected,
        applications=of_users,
    )


def _collect(history: History, found: Sequence[CheckResult]) -> dict[str, Collected]:
    extents: dict[str, list[Extent]] = {}
    for each in found:
        extents.setdefault(each.run, []).extend(each.extents)
    return collect(history, extents)


def applies(check: Check, kinds: Collection[str]) -> bool:
    """Whether the check can find something in a run with these kinds of operations (f)."""
    return NEEDS.get(check.over, "send") in {*kinds, "send"}


def _find_cycles(
    history: History, examples: int, *, strict: bool
) -> tuple[list[CheckResult], list[Unsearched]]:
    """Like a check that crashes, a search that does so does not affect the others."""
    try:
        return find_cycles(history, examples=examples)
    except Exception as error:
        if strict:
            raise
        return [], [
            Unsearched(
                run=None,
                judged=True,
                sentence=crash_note(f"search for {', '.join(CYCLES)}", error),
                needs=TRANSACTIONS,
            )
        ]


def crash_note(what: str, error: Exception) -> str:
    """What crashed and why, in one line."""
    first_line = str(error).strip().partition("\n")[0]
    return f"The {what} crashed: {type(error).__name__}: {first_line}"
