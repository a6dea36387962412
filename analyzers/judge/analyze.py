"""Judges the histories of runs: the checks, what was exercised, and the verdicts that follow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from pyspark.sql import SparkSession

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import ANOMALIES, CHECKS, require_known
from analyzers.causes.derive import derive
from analyzers.causes.evidence import RunEvidence
from analyzers.history.fault_events import FaultEvent, fault_events, faults_between, lateness
from analyzers.history.load import MANY_RUNS
from analyzers.history.sources import Location
from analyzers.history.surroundings import NONE as NOTHING_ELSE
from analyzers.history.surroundings import Surroundings
from analyzers.judge.causes import Collected, boundaries_of
from analyzers.judge.coverage import exercised, unknowns
from analyzers.judge.examine import Examination, crash_note, examine
from analyzers.judge.examples import example_json
from analyzers.judge.find import CheckResult
from analyzers.judge.measures import ApplicationFigures
from analyzers.judge.paused_collection import paused_collection
from analyzers.judge.tally import Tally
from analyzers.verdict.finding import Cause, Finding
from analyzers.verdict.measures import Availability
from analyzers.verdict.verdict import Verdict, judge
from analyzers.verdict.wording import client_names


def analyze(
    spark: SparkSession,
    runs: Sequence[Location],
    *,
    allow: Collection[str] = (),
    examples: int = 8,
    checks: Sequence[Check] = CHECKS,
    bounds: Bounds | Mapping[str, Bounds] = NONE,
    surroundings: Mapping[str, Surroundings] | None = None,
    strict: bool = False,
) -> dict[str, Verdict]:
    """Judge the histories of several run directories together. One verdict per run, by run id.

    runs      paths, or URIs of any file system that Spark reads (``hdfs://``, ``s3a://``, ``file://``). The run id is
              the value of the tables' column ``run``; for a directory without rows it is the directory's name.
    allow     anomalies that are reported without effect on the result.
    examples  the most examples of each anomaly; counts are always exact.
    bounds    how long clients may be kept waiting: in all runs, or by run id.
    surroundings  what else is known, by run id: causes are derived from it, too.
    strict    raise the error of a check that crashes. Otherwise every run becomes unknown.

    Raises ValueError for an unknown anomaly or a negative number of examples, and FileNotFoundError for a directory
    that does not exist.
    """
    allowed = require_known(allow)
    if examples < 0:
        raise ValueError(f"examples: expected 0 or more, got {examples}")
    with paused_collection() if len(runs) > MANY_RUNS else nullcontext():
        examined = examine(spark, runs, examples=examples, checks=checks, bounds=bounds, strict=strict)
        return judge_examined(examined, allow=allowed, bounds=bounds, surroundings=surroundings)


def judge_examined(
    examined: Examination,
    *,
    allow: Collection[str] = (),
    bounds: Bounds | Mapping[str, Bounds] = NONE,
    surroundings: Mapping[str, Surroundings] | None = None,
) -> dict[str, Verdict]:
    """By run id."""
    by_run: dict[str, list[CheckResult]] = {}
    for each in examined.found:
        by_run.setdefault(each.run, []).append(each)
    return {
        run: _verdict(
            run,
            examined,
            by_run.get(run, []),
            allow,
            bounds if isinstance(bounds, Bounds) else bounds.get(run, NONE),
            (surroundings or {}).get(run, NOTHING_ELSE),
        )
        for run in sorted(examined.tallies)
    }


def _verdict(
    run: str,
    examined: Examination,
    found: Sequence[CheckResult],
    allowed: Collection[str],
    bounds: Bounds,
    surroundings: Surroundings,
) -> Verdict:
    counts = examined.tallies[run]
    clients = {**client_names(counts.progress.roles, counts.progress.instances), **surroundings.clients}
    settings = {**surroundings.settings, **counts.progress.settings}
    events = fault_events(counts.nemesis, clients)
    available = examined.available.get(run, Availability())
    unsearched = [each for each in examined.unsearched if each.concerns(run, counts.kinds())]
    crashes = (
        f"The check {crash.anomaly} crashed: {crash.error}"
        for crash in examined.crashed
        if crash.anomaly in examined.applied[run]
    )
    missing = (each.sentence for each in unsearched if each.judged)
    causes, notes = _causes(
        found, examined.collected.get(run, Collected()), counts, surroundings, events, clients, settings
    )
    return judge(
        run,
        findings=[_finding(each, counts, events, each.anomaly in allowed) for each in found],
        unknowns=[*unknowns(counts, events), *crashes, *missing, *_unrecovered(bounds, events, available)],
        exercised=exercised(counts, events),
        availability=available,
        staleness=examined.late.get(run),
        propagation=examined.propagated.get(run),
        notes=[*(each.sentence for each in unsearched if not each.judged), *notes, *lateness(events)],
        clients=clients,
        causes=causes,
        settings={**settings, **examined.applications.get(run, ApplicationFigures()).settings},
        unit=surroundings.unit,
        began=counts.began,
    )


def _causes(
    found: Sequence[CheckResult],
    collected: Collected,
    counts: Tally,
    surroundings: Surroundings,
    events: Sequence[FaultEvent],
    clients: Mapping[int, str],
    settings: Mapping[str, str],
) -> tuple[tuple[Cause, ...], list[str]]:
    """And notes. The findings do not depend on their causes, so a crash is only a note."""
    extents = [extent for each in found for extent in each.extents]
    if not extents:
        return (), []
    try:
        run = RunEvidence(
            began=counts.began,
            extents=extents,
            changes=collected.changes.by_log,
            events=events,
            clients=clients,
            sources=collected.sources,
            assignments=collected.assignments,
            application=collected.application,
            settings=settings,
            producers=counts.progress.producers,
            epochs=collected.epochs,
            logs=surroundings.broker_logs(counts.began),
            operations=frozenset(counts.kinds()),
            unit=surroundings.unit,
            boundaries=boundaries_of(events),
        )
        return derive(run), []
    except Exception as error:
        return (), [crash_note("search for causes", error)]


def _unrecovered(bounds: Bounds, events: Sequence[FaultEvent], available: Availability) -> Iterator[str]:
    """A bound on recovery cannot be judged for logs without an acknowledged send after the last heal: clients may
    have stopped too early."""
    logs = [f"{log.topic}-{log.partition}" for log in available.logs if log.recovery is None]
    if bounds.recovery is not None and logs and any(event.heal is not None for event in events):
        yield (
            f"It is unknown whether {', '.join(logs)} recovered within {bounds.recovery:g} s: no send invoked after "
            f"the last heal was acknowledged."
        )


def _faults(anomaly: str, example: Mapping[str, Any], events: Sequence[FaultEvent]) -> tuple[str, ...]:
    """Names of the faults that may have been active when it happened, or from its beginning to what followed."""
    of, time = ANOMALIES[anomaly], example["time"]
    last = [moment for moment in (time, example[of.until] if of.until else None) if moment is not None]
    return faults_between(events, example[of.since] if of.since else time, max(last, default=None))


def _finding(found: CheckResult, counts: Tally, events: Sequence[FaultEvent], allowed: bool) -> Finding:
    return Finding(
        anomaly=found.anomaly,
        count=found.count,
        summary=ANOMALIES[found.anomaly].summary(found.count),
        allowed=allowed,
        examples=tuple(
            {
                **example_json(found.anomaly, example, counts.began),
                "faults": list(_faults(found.anomaly, example, events)),
            }
            for example in found.examples
        ),
    )
