"""Judges the histories of runs: the checks, what was exercised, and the verdicts that follow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyspark.sql import SparkSession

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import ANOMALIES, CHECKS, bound_checks, require_known
from analyzers.causes.evidence import Extent
from analyzers.facts.registry import NEEDS
from analyzers.history.fault_events import FaultEvent, fault_events, faults_at, lateness
from analyzers.history.incarnations import allows_compaction, by_incarnation, cuts, recreated, topic_changes
from analyzers.history.load import History, load, release
from analyzers.history.sources import Location, is_empty, sources
from analyzers.judge.availability import availabilities, measure
from analyzers.judge.causes import Collected, boundaries_of, causes_of, collect
from analyzers.judge.coverage import exercised, unknowns
from analyzers.judge.cycles import CYCLES, TRANSACTIONS, Unsearched, find_cycles
from analyzers.judge.examples import example_json
from analyzers.judge.find import Crashed, Found, find
from analyzers.judge.prefilter import find_suspicious_values, with_order
from analyzers.judge.staleness import measured_runs, stalenesses
from analyzers.judge.tally import Tally, has_removals, session_filter, tally
from analyzers.verdict.availability import Availability
from analyzers.verdict.finding import Finding
from analyzers.verdict.names import client_names
from analyzers.verdict.staleness import Staleness
from analyzers.verdict.verdict import Verdict, judge


def analyze(
    spark: SparkSession,
    runs: Sequence[Location],
    *,
    allow: Collection[str] = (),
    examples: int = 8,
    checks: Sequence[Check] = CHECKS,
    bounds: Bounds | Mapping[str, Bounds] = NONE,
    strict: bool = False,
) -> dict[str, Verdict]:
    """Judge the histories of several run directories together. One verdict per run, by run id.

    runs      paths, or URIs of any file system that Spark reads (``hdfs://``, ``s3a://``, ``file://``). The run id is
              the value of the tables' column ``run``; for a directory without rows it is the directory's name.
    allow     anomalies that are reported without effect on the result.
    examples  the most examples of each anomaly; counts are always exact.
    bounds    how long clients may be kept waiting: in all runs, or by run id.
    strict    raise the error of a check that crashes. Otherwise every run becomes unknown.

    Raises ValueError for an unknown anomaly or a negative number of examples, and FileNotFoundError for a directory
    that does not exist.
    """
    allowed = require_known(allow)
    if examples < 0:
        raise ValueError(f"examples: expected 0 or more, got {examples}")
    directories = sources(spark, runs)
    history = load(spark, directories)
    try:
        topics = topic_changes(history, directories)
        history = replace(history, has_compaction=allows_compaction(topics))
        logs = by_incarnation(history, cuts(topics))
        # These jobs are independent, and for a small history most of the time is spent in Spark's driver.
        with ThreadPoolExecutor(3, thread_name_prefix="kafkacheck-analysis") as pool:
            counting, waiting = pool.submit(tally, history), pool.submit(measure, history)
            prefiltering = pool.submit(find_suspicious_values, logs, checks)
            empty = [each.name for each in directories if is_empty(spark, each)]
        tallies = {name: Tally() for name in empty} | counting.result()
        for run in recreated(topics) & tallies.keys():
            tallies[run].has_recreation = True
        kinds = {run: each.kinds() for run, each in tallies.items()}
        every_check = (*checks, *bound_checks(bounds))
        wanted = [check for check in every_check if any(applies(check, of_run) for of_run in kinds.values())]
        narrowed = replace(logs, session_filter=session_filter(tallies), has_removals=has_removals(tallies))
        found, crashed = find(
            narrowed,
            wanted,
            examples=examples,
            strict=strict,
            prefilter=lambda *asked: with_order(prefiltering.result(), *asked),
            boundaries={run: boundaries_of(fault_events(each.nemesis)) for run, each in tallies.items()},
        )
        transactional = any(TRANSACTIONS in of_run for of_run in kinds.values())
        cycles, unsearched = _find_cycles(logs, examples) if transactional else ([], [])
        try:
            available = availabilities(waiting.result(), {run: each.began for run, each in tallies.items()})
        except Exception as error:  # No promise depends on the report, so a crash is only a note.
            if strict:
                raise
            available = {}
            unsearched.append(
                Unsearched(run=None, judged=False, sentence=_crash("report on availability", error))
            )
        late = _stalenesses(narrowed, measured_runs(tallies), unsearched, strict=strict)
        collected = _collect(history, found, unsearched, strict=strict)
    finally:
        release(spark, history)
    # All runs share one pass, in which a check also examines runs that it does not apply to. A verdict must not
    # depend on the runs beside it, so those results are dropped.
    applied = {
        run: {check.name for check in wanted if applies(check, of_run)}
        | (set(CYCLES) if TRANSACTIONS in of_run else set())
        for run, of_run in kinds.items()
    }
    by_run: dict[str, list[Found]] = {}
    for each in (*found, *cycles):
        if each.anomaly in applied[each.run]:
            by_run.setdefault(each.run, []).append(each)
    return {
        run: _verdict(
            run,
            tallies[run],
            by_run.get(run, []),
            [each for each in crashed if each.anomaly in applied[run]],
            [each for each in unsearched if each.concerns(run, kinds[run])],
            allowed,
            available.get(run, Availability()),
            late.get(run),
            bounds if isinstance(bounds, Bounds) else bounds.get(run, NONE),
            collected.get(run, Collected()),
        )
        for run in sorted(tallies)
    }


def _stalenesses(
    history: History, runs: Sequence[str], unsearched: list[Unsearched], *, strict: bool
) -> dict[str, Staleness]:
    """A crash is only a note: no promise depends on the report."""
    try:
        return stalenesses(history, runs)
    except Exception as error:
        if strict:
            raise
        unsearched += (
            Unsearched(run=run, judged=False, sentence=_crash("report on staleness", error)) for run in runs
        )
        return {}


def _collect(
    history: History, found: Sequence[Found], unsearched: list[Unsearched], *, strict: bool
) -> dict[str, Collected]:
    """Of the runs with findings. A crash, and what was left out, are only notes: the findings do not depend on their
    causes."""
    extents: dict[str, list[Extent]] = {}
    for each in found:
        extents.setdefault(each.run, []).extend(each.extents)
    try:
        collected = collect(history, extents)
        for run, of_run in collected.items():
            unsearched += (
                Unsearched(run=run, judged=False, sentence=each) for each in of_run.changes.doubts()
            )
        return collected
    except Exception as error:
        if strict:
            raise
        unsearched.append(Unsearched(run=None, judged=False, sentence=_crash("search for causes", error)))
        return {}


def applies(check: Check, kinds: Collection[str]) -> bool:
    """Whether the check can find something in a run with these kinds of operations (f)."""
    return NEEDS.get(check.over, "send") in {*kinds, "send"}


def _find_cycles(history: History, examples: int) -> tuple[list[Found], list[Unsearched]]:
    try:
        return find_cycles(history, examples=examples)
    except Exception as error:  # Like a check that crashes, it does not affect the others.
        return [], [
            Unsearched(
                run=None,
                judged=True,
                sentence=_crash(f"search for {', '.join(CYCLES)}", error),
                needs=TRANSACTIONS,
            )
        ]


def _crash(what: str, error: Exception) -> str:
    first_line = str(error).strip().partition("\n")[0]
    return f"The {what} crashed: {type(error).__name__}: {first_line}"


def _verdict(
    run: str,
    counts: Tally,
    found: Sequence[Found],
    crashed: Sequence[Crashed],
    unsearched: Sequence[Unsearched],
    allowed: Collection[str],
    available: Availability,
    late: Staleness | None,
    bounds: Bounds,
    collected: Collected,
) -> Verdict:
    events = fault_events(counts.nemesis)
    clients = client_names(counts.progress.roles)
    extents = [extent for each in found for extent in each.extents]
    crashes = (f"The check {crash.anomaly} crashed: {crash.error}" for crash in crashed)
    missing = (each.sentence for each in unsearched if each.judged)
    return judge(
        run,
        findings=[_finding(each, counts, events, each.anomaly in allowed) for each in found],
        unknowns=[*unknowns(counts, events), *crashes, *missing, *_unrecovered(bounds, events, available)],
        exercised=exercised(counts, events),
        availability=available,
        staleness=late,
        notes=[*(each.sentence for each in unsearched if not each.judged), *lateness(events)],
        clients=clients,
        causes=causes_of(extents, collected, events, counts.began, clients, counts.progress.settings),
        settings=counts.progress.settings,
        began=counts.began,
    )


def _unrecovered(bounds: Bounds, events: Sequence[FaultEvent], available: Availability) -> Iterator[str]:
    """A bound on recovery cannot be judged for logs without an acknowledged send after the last heal: clients may
    have stopped too early."""
    logs = [f"{log.topic}-{log.partition}" for log in available.logs if log.recovery is None]
    if bounds.recovery is not None and logs and any(event.heal is not None for event in events):
        yield (
            f"It is unknown whether {', '.join(logs)} recovered within {bounds.recovery:g} s: no send invoked after "
            f"the last heal was acknowledged."
        )


def _finding(found: Found, counts: Tally, events: Sequence[FaultEvent], allowed: bool) -> Finding:
    return Finding(
        anomaly=found.anomaly,
        count=found.count,
        summary=ANOMALIES[found.anomaly].summary(found.count),
        allowed=allowed,
        examples=tuple(
            {
                **example_json(found.anomaly, example, counts.began),
                "faults": list(faults_at(events, example["time"])),
            }
            for example in found.examples
        ),
    )
