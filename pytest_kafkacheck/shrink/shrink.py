"""Shrinks a run: finds the smallest experiment that still shows the same anomaly, and writes it as a test."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nemesis.shrink.runs import Shrunk, Trial
from nemesis.shrink.search import Shrink
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.replay import layout, read_experiment
from pytest_kafkacheck.shrink import report
from pytest_kafkacheck.shrink.attempts import Attempts, Execute, Say
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from pytest_kafkacheck.shrink.evidence import anomalies, by_rank, evidence, read_verdict
from pytest_kafkacheck.shrink.folder import ShrinkFolder


@dataclass(frozen=True, kw_only=True)
class Minimal:
    """The result. test: the file; None when no run showed the anomaly again. text: for people."""

    experiment: Experiment
    shrunk: Shrunk[ExperimentCandidate]
    test: Path | None
    text: str


def shrink(
    run: Path,
    execute: Execute,
    *,
    seconds: float,
    renew: Callable[[], None] = lambda: None,
    say: Say = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Minimal:
    """Shrink an invalid run. No run begins after `seconds`.

    renew  makes the next run independent of those before it, see `Shrink`.

    Its state is in ``<run>/shrink``: log.jsonl, a line for each run; best.json and test_minimal.py, the smallest
    experiment so far. Called again, it continues from there. Raises UsageError for a folder that is no run and for a
    run that is not invalid, and InfrastructureError when several runs in succession could not be carried out.
    """
    if not seconds > 0:
        raise UsageError(f"shrink for {seconds:g} s: expected more than 0")
    experiment = read_experiment(run)
    verdict = read_verdict(run)
    names = anomalies(verdict)
    if not names:
        raise UsageError(
            f"{run}: the verdict is {verdict.result}; only an invalid run, one with an anomaly that is not allowed, "
            f"can be shrunk"
        )
    folder = ShrinkFolder(run, experiment, names)
    start = ExperimentCandidate(_with_layout_of_run(experiment, run, say))
    seen = tuple(folder.trials(start))
    if seen:
        say(f"continuing after {len(seen)} runs of an earlier search, see {folder.log}")
    deadline = clock() + seconds
    attempts = Attempts(execute, by_rank(verdict), folder, say, lambda: deadline - clock())

    def write(found: Shrunk[ExperimentCandidate], _: Sequence[Trial] = ()) -> None:
        folder.write(found, attempts.shown_by(found.best))

    search = Shrink(
        start,
        attempts.reproduces,
        budget=seconds,
        keep=write,
        tried=attempts.tried,
        renew=renew,
        evidence=evidence(verdict, names),
        seen=seen,
        clock=clock,
    )
    try:
        shrunk = search.run()
    except KeyboardInterrupt as interrupt:
        found = search.progress()
        if found.reproduced:
            write(found)
        interrupt.add_note(report.interrupted(found, folder))
        raise
    if not shrunk.reproduced:
        text = report.not_reproduced(search.log, shrunk, names)
        return Minimal(experiment=experiment, shrunk=shrunk, test=None, text=text)
    write(shrunk)
    return Minimal(
        experiment=shrunk.best.experiment,
        shrunk=shrunk,
        test=folder.test,
        text=report.summary(experiment, shrunk, search.log, folder),
    )


def _with_layout_of_run(experiment: Experiment, run: Path, say: Say) -> Experiment:
    """With the partitions on the brokers of the first run, so that a role is the same node more often."""
    if experiment.layout is not None or not experiment.schedule.events:
        return experiment
    try:
        return replace(experiment, workload=experiment.workload.with_layout(layout(run)))
    except ValueError as error:
        say(f"Kafka chooses the layout of partitions anew: {error}")
        return experiment
