"""Shrinks a run: finds the smallest experiment that still shows the same anomaly, and writes it as a test."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nemesis.shrink.search import Impossible, Shrink, Shrunk, Trial
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.replay import layout, read_experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from pytest_kafkacheck.shrink.evidence import anomalies, evidence, read_verdict
from pytest_kafkacheck.shrink.folder import ShrinkFolder

ATTEMPTS = 2
"""Runs of a candidate that fail for reasons of the machine, after which it counts as one that cannot be run."""

FAILURES = 4
"""Such failures in succession, over all candidates, after which shrinking gives up."""

Say = Callable[[str], None]
Execute = Callable[[Experiment], Run]
"""Runs an experiment on a fresh cluster. Raises InfrastructureError."""


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
    say: Say = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Minimal:
    """Shrink an invalid run. No run begins after `seconds`.

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
    last = _Runs(execute, names, folder, say)
    search = Shrink(
        start,
        last.reproduces,
        budget=seconds,
        keep=last.keep,
        tried=last.tried,
        evidence=evidence(verdict, names),
        seen=seen,
        clock=clock,
    )
    shrunk = search.run()
    if not shrunk.reproduced:
        return Minimal(experiment=experiment, shrunk=shrunk, test=None, text=_not_reproduced(search, names))
    last.write(shrunk.best, _rate(shrunk), shrunk)
    return Minimal(
        experiment=shrunk.best.experiment,
        shrunk=shrunk,
        test=folder.test,
        text=_summary(experiment, shrunk, len(search.log), folder),
    )


class _Runs:
    """Runs candidates, and reports each run."""

    def __init__(self, execute: Execute, names: frozenset[str], folder: ShrinkFolder, say: Say) -> None:
        self._execute, self._names = execute, names
        self._folder, self._say = folder, say
        self._failures = 0
        self._path: Path | None = None

    def reproduces(self, candidate: ExperimentCandidate) -> bool:
        events = ", ".join(event.id for event in candidate.schedule.events) or "no fault"
        self._say(f"trying {events} ({candidate.schedule.length:g} s)")
        run = self._run(candidate.experiment)
        reproduced = bool(anomalies(run.verdict) & self._names)
        if reproduced:
            self._path = run.path
        else:
            # There are many of these, and they show nothing.
            shutil.rmtree(run.path, ignore_errors=True)
        return reproduced

    def _run(self, experiment: Experiment) -> Run:
        for _ in range(ATTEMPTS):
            try:
                run = self._execute(experiment)
                self._require_an_answer(run)
            except InfrastructureError as error:
                # Neither a reproduction nor the absence of one.
                self._failures += 1
                if self._failures >= FAILURES:
                    raise
                self._say(f"not carried out: {error}")
            else:
                self._failures = 0
                return run
        raise Impossible

    def _require_an_answer(self, run: Run) -> None:
        """Raise InfrastructureError if steps of the run failed and it does not show the anomaly: a whole run might.

        A run that shows it is a reproduction, whatever failed later.
        """
        failed = run.verdict.exercised.failed_steps
        if failed and not anomalies(run.verdict) & self._names:
            shutil.rmtree(run.path, ignore_errors=True)
            raise InfrastructureError(run.verdict.unknowns[0])

    def tried(self, trial: Trial) -> None:
        self._folder.append(trial)
        what = "reproduced" if trial.reproduced else "not reproduced"
        self._say(f"{what} after {trial.seconds:.0f} s: {trial.why}")

    def keep(self, best: ExperimentCandidate, log: Sequence[Trial]) -> None:
        key = json.dumps(best.to_json(), sort_keys=True)
        answers = [trial.reproduced for trial in log if json.dumps(trial.candidate, sort_keys=True) == key]
        self.write(best, f"{sum(answers)} of {len(answers)} runs so far", None)

    def write(self, best: ExperimentCandidate, rate: str, shrunk: Shrunk[ExperimentCandidate] | None) -> None:
        state = (
            "Shrinking has not ended: a smaller one may follow."
            if shrunk is None or not shrunk.complete
            else ""
        )
        self._folder.write(best.experiment, rate, state, self._path)


def _with_layout_of_run(experiment: Experiment, run: Path, say: Say) -> Experiment:
    """With the partitions on the brokers of the first run, so that a role is the same node more often."""
    if experiment.layout is not None or not experiment.schedule.events:
        return experiment
    try:
        return replace(experiment, workload=experiment.workload.with_layout(layout(run)))
    except ValueError as error:
        say(f"Kafka chooses the layout of partitions anew: {error}")
        return experiment


def _rate(shrunk: Shrunk[ExperimentCandidate]) -> str:
    if not shrunk.runs:
        return "1 of 1 runs (no time was left for more)"
    return f"{shrunk.hits} of {shrunk.runs} runs"


def _not_reproduced(search: Shrink[ExperimentCandidate], names: frozenset[str]) -> str:
    what = ", ".join(sorted(names))
    if not search.log:
        return f"no run was made: {what}"
    return (
        f"{what} did not appear again in {len(search.log)} runs of the unchanged experiment, which is too rare for "
        f"shrinking. More records per second or longer faults may make it more frequent"
    )


def _summary(
    experiment: Experiment, shrunk: Shrunk[ExperimentCandidate], runs: int, folder: ShrinkFolder
) -> str:
    before, after = len(experiment.schedule.events), len(shrunk.best.schedule.events)
    ended = (
        ""
        if shrunk.complete
        else "; the time was over before everything was tried, call it again to continue"
    )
    lines = [
        f"{before} events became {after} in {runs} runs{ended}",
        f"reproduced:   {_rate(shrunk)}",
        *(
            f"  {event.id}: {event.fault.name} {event.target} at {event.at:g} s"
            for event in shrunk.best.schedule.events
        ),
        f"as a test:    {folder.test}",
    ]
    return "\n".join(lines)
