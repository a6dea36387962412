"""Shrinking a run: the smallest experiment that still shows the same anomaly, as a test."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import Verdict
from nemesis.shrink.reductions import Evidence
from nemesis.shrink.search import Impossible, Shrink, Shrunk, Trial
from nemesis.validation import finite
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.replay import layout, read_experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from pytest_kafkacheck.shrink.source import pytest_file

SLACK = 1.0
"""Seconds. What was acknowledged just before a fault may be lost by it."""

ATTEMPTS = 2
"""Runs of a candidate that the machine does not carry out, until it counts as one that cannot be run."""

FAILURES = 4
"""Such runs in succession, of several candidates, until shrinking gives up."""

Say = Callable[[str], None]
Execute = Callable[[Experiment], Run]
"""Runs an experiment on a fresh cluster. Raises InfrastructureError."""


@dataclass(frozen=True, kw_only=True)
class Minimal:
    """What came of it. test: the file, None when nothing reproduced. text: for people."""

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
    """Shrink an invalid run for so many seconds, and a run more at most.

    Keeps all it knows in ``<run>/shrink``: log.jsonl, a line for each run; best.json and test_minimal.py, the
    smallest experiment so far. Called again, it goes on from there. Raises UsageError for a folder that is no run
    and for a run that was not invalid, InfrastructureError when one run after another could not be carried out.
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
    folder = _Folder(run, experiment, names)
    start = ExperimentCandidate(_laid_out(experiment, run, say))
    seen = tuple(folder.trials(start))
    if seen:
        say(f"going on after {len(seen)} runs of an earlier search, see {folder.log}")
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
        return Minimal(experiment=experiment, shrunk=shrunk, test=None, text=_hopeless(search, names))
    last.write(shrunk.best, _rate(shrunk), shrunk)
    return Minimal(
        experiment=shrunk.best.experiment,
        shrunk=shrunk,
        test=folder.test,
        text=_summary(experiment, shrunk, len(search.log), folder),
    )


def read_verdict(run: Path) -> Verdict:
    """Raises UsageError when there is none."""
    file = run / "verdict.json"
    try:
        return Verdict.from_json(file.read_text())
    except OSError:
        raise UsageError(f"{run}: has no verdict yet; judge it first: kafkacheck analyze {run}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{file}: not a verdict of this kafkacheck ({error!r}); judge it again: kafkacheck analyze {run}"
        ) from error


def anomalies(verdict: Verdict) -> frozenset[str]:
    """Names of what makes a verdict invalid."""
    return frozenset(each.anomaly for each in _counted(verdict))


def evidence(verdict: Verdict, names: Iterable[str]) -> Evidence:
    """Which events were at work when the anomalies were first seen, and which began after all that is known of."""
    wanted = frozenset(names)
    times = [
        example["time"]
        for finding in _counted(verdict)
        for example in finding.examples
        if finding.anomaly in wanted and example.get("time") is not None
    ]
    if not times:
        return Evidence()
    first, last = min(times), max(times)
    began = [each for each in verdict.exercised.faults if each.began is not None]
    return Evidence(
        suspects=frozenset(
            each.event
            for each in began
            if each.began is not None
            and each.began - SLACK <= first
            and (each.ended is None or first <= each.ended + SLACK)
        ),
        later=frozenset(each.event for each in began if each.began is not None and each.began - SLACK > last),
    )


class _Runs:
    """Runs candidates, and tells of them."""

    def __init__(self, execute: Execute, names: frozenset[str], folder: _Folder, say: Say) -> None:
        self._execute, self._names = execute, names
        self._folder, self._say = folder, say
        self._failures = 0
        self._path: Path | None = None

    def reproduces(self, candidate: ExperimentCandidate) -> bool:
        events = ", ".join(event.id for event in candidate.schedule.events) or "no fault"
        self._say(f"trying {events} ({candidate.schedule.length:g} s)")
        run = self._carried_out(candidate.experiment)
        reproduced = bool(anomalies(run.verdict) & self._names)
        if reproduced:
            self._path = run.path
        else:
            # Nobody reads them, and there are many.
            shutil.rmtree(run.path, ignore_errors=True)
        return reproduced

    def _carried_out(self, experiment: Experiment) -> Run:
        for _ in range(ATTEMPTS):
            try:
                run = self._execute(experiment)
            except InfrastructureError as error:
                # No answer: neither that it shows the anomaly, nor that it does not.
                self._failures += 1
                if self._failures >= FAILURES:
                    raise
                self._say(f"not carried out: {error}")
            else:
                self._failures = 0
                return run
        raise Impossible

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
            "Shrinking has not ended: this may get smaller." if shrunk is None or not shrunk.complete else ""
        )
        self._folder.write(best.experiment, rate, state, self._path)


class _Folder:
    """``<run>/shrink``: its files, each either old or new, never half."""

    def __init__(self, run: Path, experiment: Experiment, names: frozenset[str]) -> None:
        self._run, self._start, self._names = run, experiment, names
        self._home = run / "shrink"
        self.log = self._home / "log.jsonl"
        try:
            self._home.mkdir(exist_ok=True)
            self.log.open("a").close()
        except OSError as error:
            raise UsageError(
                f"{self.log}: cannot be written ({error}), and shrinking keeps there what it learns; shrink a copy "
                f"of the run's folder instead"
            ) from error
        self.best = self._home / "best.json"
        self.test = self._home / "test_minimal.py"

    def append(self, trial: Trial) -> None:
        with self.log.open("a") as file:
            file.write(json.dumps(trial.to_json()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def trials(self, start: ExperimentCandidate) -> Iterator[Trial]:
        """Those of an earlier search. A line cut short by a crash is left out, and cut off.

        Raises UsageError when they are of another experiment.
        """
        try:
            lines = self.log.read_text().split("\n")
        except ValueError as error:
            raise UsageError(f"{self.log}: {error}; remove the folder to begin anew") from error
        whole = lines[:-1]
        if lines and lines[-1]:
            _replace(self.log, "".join(f"{line}\n" for line in whole))
        for number, line in enumerate(whole):
            try:
                data = json.loads(line)
                candidate = data["candidate"]
                if not isinstance(data["reproduced"], bool) or not finite(data["seconds"]):
                    raise ValueError(f"reproduced={data['reproduced']!r}, seconds={data['seconds']!r}")
                trial = Trial(
                    # Through JSON and back: what an older search left out has its default now.
                    candidate=Experiment.from_json(candidate).to_json(),
                    why=data["why"],
                    reproduced=data["reproduced"],
                    seconds=data["seconds"],
                )
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise UsageError(
                    f"{self.log}, line {number + 1}: {error!r}; remove the folder to begin anew"
                ) from error
            if number == 0 and _canonical(trial.candidate) != _canonical(start.to_json()):
                raise UsageError(
                    f"{self.log}: of another experiment than this run's; remove the folder to begin anew"
                )
            yield trial

    def write(self, best: Experiment, rate: str, state: str, reproduced: Path | None) -> None:
        _replace(self.best, json.dumps(best.to_json(), indent=2) + "\n")
        again = (
            f"kafkacheck replay {shlex.quote(str(reproduced))}"
            if reproduced is not None
            else f"kafkacheck run {shlex.quote(str(self.best))}"
        )
        about = [
            f"{', '.join(sorted(self._names))}: reproduced in {rate}, Kafka {best.cluster.version}.",
            "",
            f"Shrunk from {len(self._start.schedule.events)} to {len(best.schedule.events)} fault events; the first "
            f"run is {self._run}.",
            *([state] if state else []),
            "It fails as long as the anomaly appears.",
            "",
            f"Replay: {again}",
        ]
        _replace(self.test, pytest_file(best, about="\n".join(about)))


def _laid_out(experiment: Experiment, run: Path, say: Say) -> Experiment:
    """With partitions on the brokers they were on: a role then means the same node more often."""
    if experiment.layout is not None or not experiment.schedule.events:
        return experiment
    try:
        return replace(experiment, workload=experiment.workload.with_layout(layout(run)))
    except ValueError as error:
        say(f"partitions are laid on brokers by chance: {error}")
        return experiment


def _counted(verdict: Verdict) -> Iterator[Finding]:
    return (each for each in verdict.findings if not each.allowed and each.severity == "invalid")


def _rate(shrunk: Shrunk[ExperimentCandidate]) -> str:
    if not shrunk.runs:
        return "1 of 1 runs (no time was left for more)"
    return f"{shrunk.hits} of {shrunk.runs} runs"


def _hopeless(search: Shrink[ExperimentCandidate], names: frozenset[str]) -> str:
    what = ", ".join(sorted(names))
    if not search.log:
        return f"no run was made: {what}"
    return (
        f"{what} did not appear again in {len(search.log)} runs of the experiment as it was: that is too rare for "
        f"shrinking. The schedule stays as it is. More records a second, or longer faults, may bring it out"
    )


def _summary(experiment: Experiment, shrunk: Shrunk[ExperimentCandidate], runs: int, folder: _Folder) -> str:
    before, after = len(experiment.schedule.events), len(shrunk.best.schedule.events)
    ended = "" if shrunk.complete else "; the time was over before all was tried, call it again to go on"
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


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True)


def _replace(file: Path, text: str) -> None:
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.write_text(text)
    os.replace(unfinished, file)
