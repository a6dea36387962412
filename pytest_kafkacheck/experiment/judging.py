"""Judges stored runs by their experiments, and stores the verdicts."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analyzers.catalogue.registry import CHECKS
from analyzers.history.sources import Location, local_files
from analyzers.history.surroundings import Surroundings
from analyzers.judge.batch import Case, Judged, judge_batch
from analyzers.verdict.verdict import Verdict, amended
from pytest_kafkacheck.experiment.imported_lines import ImportedLines
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.experiment.stored_runs import SparkProvider, StoredRun, compaction_problem
from workloads.history.schema import TABLES


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was judged of one run folder."""

    home: Location
    expect: str
    verdicts: tuple[Verdict, ...]
    """One, unless a folder without an experiment holds the histories of several runs."""
    problem: str | None = None
    """What is wrong with its files; the verdict is then unknown."""
    lines: ImportedLines | None = None
    """The file that was imported into the folder."""

    @property
    def source(self) -> Location:
        """What the user named."""
        is_named = self.lines is None or self.lines.path.parent == self.home
        return self.home if self.lines is None or is_named else self.lines.path


def judge_all(
    spark: SparkProvider,
    runs: Sequence[StoredRun],
    *,
    allow: Collection[str] = (),
    examples: int,
    only: Collection[str] | None = None,
    store: bool = True,
) -> list[Outcome]:
    """Judge stored runs in one Spark application, and write verdict.json for each local run with an experiment.

    runs   remote ones must have been listed by `list_remote`. Nothing is written to them.
    allow  anomalies that are not judged, in addition to those that a run's workload allows.
    only   anomalies that are looked for; None: all. A verdict on a part is never valid.
    store  False: write no verdict.json.
    """
    cases = [_case(run, allow) for run in runs]
    rows = sum(run.rows + _local_rows(run.home) for run in runs)
    checks = CHECKS if only is None else [check for check in CHECKS if check.name in only]
    judged = judge_batch(partial(spark.session, rows=rows), cases, examples=examples, checks=checks)
    unknowns = [] if only is None else [_judged_partly(only)]
    return [_outcome(run, each, unknowns, store=store) for run, each in zip(runs, judged, strict=True)]


def judge_until_found(
    spark: SparkProvider, run: StoredRun, anomalies: Sequence[str], *, examples: int
) -> Outcome:
    """Judge a stored run for the first of these anomalies, and for all of them if it does not show that one.

    Most of the time of a verdict goes into what was found, and one finding is enough for the question.
    """
    first = anomalies[:1]
    (outcome,) = judge_all(spark, [run], examples=examples, only=first)
    found = {finding.anomaly for verdict in outcome.verdicts for finding in verdict.findings}
    if len(anomalies) == 1 or found & set(anomalies):
        return outcome
    (outcome,) = judge_all(spark, [run], examples=examples, only=anomalies)
    return outcome


def _judged_partly(only: Collection[str]) -> str:
    return f"The run was judged only for {', '.join(sorted(only))}. Judge it for everything with kafkacheck analyze."


def _case(run: StoredRun, allow: Collection[str]) -> Case:
    rules, problem = run.rules, run.problem or compaction_problem(run)
    home = RunDirectory(run.home) if isinstance(run.home, Path) else None
    surroundings = Surroundings(
        settings={} if rules is None else rules.settings,
        logs={} if home is None else home.node_logs(),
        clock=None if home is None else home.read_clock(),
        clients={} if run.lines is None else run.lines.clients,
        unit="s" if run.lines is None else run.lines.unit,
    )
    if run.lines is not None:
        return Case(
            home=run.home,
            allow=frozenset({*allow, *run.lines.allow}),
            requires=run.lines.requires,
            is_single=True,
            surroundings=surroundings,
            problem=problem,
        )
    if rules is None:
        return Case(home=run.home, allow=frozenset(allow), surroundings=surroundings, problem=problem)
    return Case(
        home=run.home,
        bounds=rules.bounds,
        allow=frozenset({*allow, *rules.allowed}),
        requires=rules.requires,
        is_single=True,
        schedule=rules.schedule,
        surroundings=surroundings,
        problem=problem,
    )


def _local_rows(home: Location) -> int:
    """Rows of all tables. A file that cannot be read counts as empty: validation reports later why."""
    rows = 0
    if isinstance(home, Path):
        for table in TABLES:
            with contextlib.suppress(pa.ArrowException, OSError):
                for file in local_files(home, table):
                    rows += pq.read_metadata(file).num_rows
    return rows


def _outcome(run: StoredRun, judged: Judged, unknowns: Sequence[str], *, store: bool) -> Outcome:
    verdicts = tuple(amended(each, unknowns=unknowns) for each in judged.verdicts.values())
    if store and run.rules is not None and isinstance(run.home, Path):
        (verdict,) = verdicts
        RunDirectory(run.home).write_verdict(verdict)
    return Outcome(
        home=run.home,
        expect=run.rules.expect if run.rules is not None else "valid",
        verdicts=verdicts,
        problem=judged.problem,
        lines=run.lines,
    )
