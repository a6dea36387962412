"""From the histories of runs to their verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import ANOMALIES, CHECKS, bound_checks, require_known
from analyzers.facts.registry import NEEDS
from analyzers.history.fault_events import FaultEvent, fault_events, faults_at
from analyzers.history.load import History, load, release
from analyzers.history.relative_time import seconds
from analyzers.history.sources import Location, is_empty, sources
from analyzers.judge.availability import availabilities, measure
from analyzers.judge.coverage import Tally, exercised, tally, unknowns
from analyzers.judge.cycles import CYCLES, Unsearched, find_cycles
from analyzers.judge.find import Crashed, Found, find
from analyzers.judge.prefilter import find_suspects
from analyzers.verdict.availability import Availability
from analyzers.verdict.finding import Finding
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
    """Judge the histories of all the run directories together; one verdict for each run, by run id.

    A run directory is a path, or a URI of any file system that Spark reads (``hdfs://``, ``s3a://``, ``file://``).
    A run id is what the tables say in their column ``run``; a directory without any row goes by its own
    name. Anomalies in `allow` are reported, not judged; at most `examples` of each are shown, the
    counts are exact. The `bounds` say how long clients may be kept waiting: in all runs or, by run id, in
    each. A check that crashes makes every run unknown; with `strict` its error is raised. Raises ValueError
    for an unknown anomaly or a negative number of examples, and FileNotFoundError for a directory that
    does not exist.
    """
    allowed = require_known(allow)
    if examples < 0:
        raise ValueError(f"examples: expected 0 or more, got {examples}")
    where = sources(spark, runs)
    history = load(spark, where)
    try:
        # None of these needs another, and of a small history most of the time goes by in Spark's driver.
        with ThreadPoolExecutor(3, thread_name_prefix="kafkacheck-analysis") as pool:
            counting, waiting = pool.submit(tally, history), pool.submit(measure, history)
            prefiltering = pool.submit(find_suspects, history, checks)
            empty = [run.name for run in where if is_empty(spark, run)]
        tallies = {name: Tally() for name in empty} | counting.result()
        done = {kind for each in tallies.values() for kind in each.kinds()}
        wanted = applicable((*checks, *bound_checks(bounds)), done)
        found, crashed = find(
            history, wanted, examples=examples, strict=strict, prefilter=lambda *_: prefiltering.result()
        )
        circles, unsearched = _circles(history, examples) if "txn" in done else ([], [])
        try:
            available = availabilities(waiting.result(), {run: each.began for run, each in tallies.items()})
        except Exception as error:  # no promise depends on it
            if strict:
                raise
            available = {}
            unsearched.append(
                Unsearched(run=None, judged=False, sentence=_crash("report on availability", error))
            )
    finally:
        release(spark, history)
    by_run: dict[str, list[Found]] = {}
    for one in (*found, *circles):
        by_run.setdefault(one.run, []).append(one)
    return {
        run: _verdict(
            run,
            tallies[run],
            by_run.get(run, []),
            crashed,
            [each for each in unsearched if each.run in (run, None)],
            allowed,
            available.get(run, Availability()),
            bounds if isinstance(bounds, Bounds) else bounds.get(run, NONE),
        )
        for run in sorted(tallies)
    }


def applicable(checks: Sequence[Check], done: Collection[str]) -> list[Check]:
    """The checks that can find something where these kinds of operations (f) were done."""
    return [check for check in checks if NEEDS.get(check.over, "send") in {*done, "send"}]


def _circles(history: History, examples: int) -> tuple[list[Found], list[Unsearched]]:
    try:
        return find_cycles(history, examples=examples)
    except Exception as error:  # as a check that crashes: it takes no other with it
        return [], [
            Unsearched(run=None, judged=True, sentence=_crash(f"search for {', '.join(CYCLES)}", error))
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
    bounds: Bounds,
) -> Verdict:
    events = fault_events(counts.nemesis)
    crashes = (f"The check {crash.anomaly} crashed: {crash.error}" for crash in crashed)
    missing = (each.sentence for each in unsearched if each.judged)
    return judge(
        run,
        findings=[_finding(one, counts, events, one.anomaly in allowed) for one in found],
        unknowns=[*unknowns(counts, events), *crashes, *missing, *_unrecovered(bounds, events, available)],
        exercised=exercised(counts, events),
        availability=available,
        notes=[each.sentence for each in unsearched if not each.judged],
    )


def _unrecovered(bounds: Bounds, events: Sequence[FaultEvent], available: Availability) -> Iterator[str]:
    """A bound on recovery that nothing acknowledged since: where the attempts ended early, it may have been kept."""
    logs = [f"{log.topic}-{log.partition}" for log in available.logs if log.recovery is None]
    if bounds.recovery is not None and logs and any(event.heal is not None for event in events):
        yield (
            f"Whether {', '.join(logs)} recovered within {bounds.recovery:g} s is not known: nothing that was sent "
            f"after the last heal was acknowledged."
        )


def _finding(found: Found, counts: Tally, events: Sequence[FaultEvent], allowed: bool) -> Finding:
    return Finding(
        anomaly=found.anomaly,
        count=found.count,
        summary=ANOMALIES[found.anomaly].summary(found.count),
        allowed=allowed,
        examples=tuple(_example(found, example, counts, events) for example in found.examples),
    )


def _example(
    found: Found, example: Mapping[str, Any], counts: Tally, events: Sequence[FaultEvent]
) -> dict[str, Any]:
    columns, time = ANOMALIES[found.anomaly].columns, example["time"]
    shown = {
        name: columns[name].to_json(value, counts.began) if name in columns else value
        for name, value in example.items()
    }
    return {**shown, "time": seconds(time, counts.began), "faults": list(faults_at(events, time))}
