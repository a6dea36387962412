"""Runs of candidates: which runs count, and what is kept of them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from nemesis.shrink.runs import Impossible, Trial, key_of
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from pytest_kafkacheck.shrink.evidence import anomalies
from pytest_kafkacheck.shrink.folder import ShrinkFolder

ATTEMPTS = 2
"""Runs of a candidate that fail for reasons of the machine, after which it counts as one that cannot be run."""

FAILURES = 4
"""Such failures in succession, over all candidates, after which shrinking gives up."""

Say = Callable[[str], None]
Execute = Callable[[Experiment, Sequence[str]], Run]
"""Runs an experiment and judges whether it shows one of these anomalies. Raises InfrastructureError."""


class Attempts:
    """Runs candidates, and reports each run. left: seconds in which further runs may begin."""

    def __init__(
        self,
        execute: Execute,
        names: Sequence[str],
        folder: ShrinkFolder,
        say: Say,
        left: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._execute, self._names = execute, names
        self._folder, self._say = folder, say
        self._left = left
        self._durations: list[float] = []
        self._failures = 0
        self._paths: dict[str, Path] = {}

    def reproduces(self, candidate: ExperimentCandidate) -> bool:
        events = ", ".join(event.id for event in candidate.schedule.events) or "no fault"
        number = len(self._durations) + 1
        self._say(
            f"{prospect(number, self._left(), self._durations)}: {events} ({candidate.schedule.length:g} s)"
        )
        run = self._run(candidate.experiment)
        reproduced = bool(anomalies(run.verdict) & set(self._names))
        if reproduced:
            self._paths[key_of(candidate.to_json())] = run.path
        else:
            # There are many of these, and they show nothing.
            shutil.rmtree(run.path, ignore_errors=True)
        return reproduced

    def shown_by(self, candidate: ExperimentCandidate) -> Path | None:
        """The folder of its last run that showed the anomaly."""
        return self._paths.get(key_of(candidate.to_json()))

    def tried(self, trial: Trial) -> None:
        self._folder.append(trial)
        self._durations.append(trial.seconds)
        what = "reproduced" if trial.reproduced else "not reproduced"
        self._say(f"{what} after {trial.seconds:.0f} s: {trial.why}")

    def _run(self, experiment: Experiment) -> Run:
        for _ in range(ATTEMPTS):
            try:
                run = self._execute(experiment, self._names)
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
        if failed and not anomalies(run.verdict) & set(self._names):
            shutil.rmtree(run.path, ignore_errors=True)
            raise InfrastructureError(run.verdict.unknowns[0])


def prospect(number: int, left: float, durations: Sequence[float]) -> str:
    """Such as ``try 3 of at most 9, 1:20 left``. As many runs begin as fit into the time if each is as short as the
    shortest before; without one before, that is not known."""
    if not math.isfinite(left):
        return f"try {number}"
    minutes, seconds = divmod(max(0, round(left)), 60)
    most = (
        f" of at most {number + int(left / shortest)}" if (shortest := min(durations, default=0)) > 0 else ""
    )
    return f"try {number}{most}, {minutes}:{seconds:02} left"
