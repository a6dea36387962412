"""Judges runs by their experiments: stored ones, and one that is in progress."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzers.catalogue.registry import ANOMALIES, CHECKS
from analyzers.history.sources import Location, local_files
from analyzers.history.surroundings import Surroundings, seconds
from analyzers.judge.batch import Case, Judged, judge_batch
from analyzers.judge.examples import example_json
from analyzers.judge.find import CheckResult
from analyzers.judge.live import EITHER, Reported, find_live
from analyzers.verdict.verdict import Verdict, amended
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.imported_lines import ImportedLines
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.experiment.stored_runs import SparkProvider, StoredRun, compaction_problem
from workloads.declaration import declaration_of
from workloads.history.live.window import LIMIT, Window
from workloads.history.schema import TABLES

log = logging.getLogger(__name__)


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


EVERY = 15.0
"""Seconds between rounds. Segments are sealed at an age of 20 s, so a finding is reported within a minute."""

END_TIMEOUT = 60.0
"""Seconds that the end of a run waits for the current round."""

MIN_LIMIT = 1 << 20
"""Bytes; see `next_limit`."""

EXAMPLES = 3
"""Of each anomaly and window, in ``live.jsonl``."""

FEW = 2
"""From this number of anomalies on that a finding may turn out to be, a message does not name them."""


def next_limit(limit: int, *, took: float, every: float) -> int:
    """Bytes of the next window, after a round with `limit` bytes that took `took` seconds.

    On a busy machine the window shrinks, so that a round takes no longer than `every` seconds.
    """
    if took > every:
        return max(limit // 2, MIN_LIMIT)
    return min(limit * 2, LIMIT) if took < every / 3 else limit


def keeps_records(experiment: Experiment) -> bool:
    """Whether neither a fault nor the workload of an experiment is to delete records."""
    workload = experiment.workload
    declaration = declaration_of(workload)
    deleting = any(event.fault.removes_records for event in experiment.schedule.events)
    return not (deleting or declaration.deletes_records(workload))


class LiveJudge:
    """A context manager: within it, a thread judges every few seconds what a run has recorded since.

    home           the run's folder. Findings are appended to its ``live.jsonl``: one line per anomaly and window.
    spark          provides the session, once it has started.
    say            is called with one line when an anomaly is found for the first time.
    allowed        anomalies that the workload allows; they are reported as allowed.
    keeps_records  whether nothing is to delete records in this run: some findings are certain only then.
    every          seconds between rounds.

    An error here is logged, and reported once. It affects neither the run nor its verdict.
    """

    def __init__(
        self,
        home: Path,
        spark: SparkProvider,
        *,
        say: Callable[[str], None],
        allowed: Collection[str] = (),
        keeps_records: bool = False,
        every: float = EVERY,
        window: Window | None = None,
    ) -> None:
        self._file = RunDirectory(home).live
        self._spark, self._say, self._allowed, self._every = spark, say, allowed, every
        self._window = window or Window(RunDirectory(home).history)
        self._began: int | None = None
        self._keeps_records = keeps_records
        self._reported = Reported()
        self._said: set[str] = set()
        self._has_failed = self._is_late = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kafkacheck-live", daemon=True)

    def __enter__(self) -> LiveJudge:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop.set()
        # After an interrupt nobody waits: what a round finds now is not reported.
        if kind is not KeyboardInterrupt:
            self._thread.join(END_TIMEOUT)

    def _run(self) -> None:
        while not self._stop.wait(0 if self._window.waits else self._every):
            try:
                self.round()
            except Exception as error:
                self._fail(repr(error))

    def round(self) -> None:
        """Judge one window, if a segment was sealed since the last one."""
        tables = self._window.advance()
        if tables is None:
            return
        if self._window.missed and not self._is_late:
            self._is_late = True
            self._say(
                "live: the history grows faster than it can be judged now; parts of it are left to the verdict"
            )
        now = self._latest(tables)
        if now is None:
            return
        session = self._spark.session(rows=sum(map(len, tables.values())))
        began = time.monotonic()
        found, crashed = find_live(session, tables, self._reported, keeps_records=self._keeps_records)
        self._window.limit = next_limit(self._window.limit, took=time.monotonic() - began, every=self._every)
        if self._stop.is_set():
            return
        for each in found:
            self._report(each, now)
        for crash in crashed:
            self._fail(f"the check {crash.anomaly} crashed: {crash.error}")

    def _latest(self, tables: Mapping[str, pa.Table]) -> int | None:
        """The latest time in the window, ns; None if it is empty."""
        times = [pc.min_max(rows[name]) for rows in tables.values() for name in ("invoked", "completed")]
        if self._began is None:
            # As in the verdict, time begins after the creation of the topics.
            operations = tables["operations"]
            loaded = operations.filter(pc.not_equal(operations["f"], "topic"))
            lows = [pc.min(rows["invoked"]) for rows in (tables["records"], loaded)]
            self._began = min((low for each in lows if (low := each.as_py()) is not None), default=None)
        return max((high for each in times if (high := each["max"].as_py()) is not None), default=None)

    def _report(self, found: CheckResult, now: int) -> None:
        either = sorted(EITHER[found.anomaly] - {found.anomaly})
        examples = [example_json(found.anomaly, each, self._began) for each in found.examples[:EXAMPLES]]
        line = {
            "anomaly": found.anomaly,
            "or": either,
            "count": found.count,
            "allowed": found.anomaly in self._allowed,
            "judged_to": seconds(now, self._began),
            "examples": examples,
        }
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if found.anomaly not in self._said:
            self._said.add(found.anomaly)
            others = either if len(either) < FEW else ["another anomaly of the same records"]
            name = " or ".join([found.anomaly, *others])
            at = examples[0]["time"]
            when = "" if at is None else f", first at {at:.1f} s"
            allowed = " (allowed)" if line["allowed"] else ""
            self._say(
                f"live: {name}{allowed}: {found.count} {ANOMALIES[found.anomaly].summary(found.count)}{when}"
            )

    def _fail(self, why: str) -> None:
        log.warning("live judging: %s", why, exc_info=not self._has_failed)
        if not self._has_failed:
            self._has_failed = True
            self._say(f"live: judging during the run failed; the verdict is not affected: {why}")
