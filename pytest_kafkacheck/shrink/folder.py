"""The folder ``shrink`` of a run: every trial, and the smallest experiment so far, as JSON and as a test.

A search that is interrupted continues from it.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from nemesis.shrink.runs import Shrunk, Trial, key_of
from nemesis.validation import finite
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from pytest_kafkacheck.shrink.rates import doubts, rate_of
from pytest_kafkacheck.shrink.source import pytest_file


class ShrinkFolder:
    """The files of ``<run>/shrink``. Each is replaced as a whole, so an interrupt leaves the old or the new one."""

    def __init__(self, run: Path, experiment: Experiment, names: frozenset[str]) -> None:
        self._run, self._start, self._names = run, experiment, names
        self._home = run / "shrink"
        self.log = self._home / "log.jsonl"
        try:
            self._home.mkdir(exist_ok=True)
            self.log.open("a").close()
        except OSError as error:
            raise UsageError(
                f"{self.log}: cannot be written ({error}), and shrink needs it for its state; shrink a copy of the "
                f"run's folder instead"
            ) from error
        self.best = self._home / "best.json"
        self.test = self._home / "test_minimal.py"
        self._origin = self._home / "start.json"

    def append(self, trial: Trial) -> None:
        with self.log.open("a") as file:
            file.write(json.dumps(trial.to_json()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def trials(self, start: ExperimentCandidate) -> Iterator[Trial]:
        """The trials of an earlier search. A last line that a crash cut short is removed.

        Raises UsageError when they belong to another experiment.
        """
        try:
            lines = self.log.read_text().split("\n")
        except ValueError as error:
            raise UsageError(f"{self.log}: {error}; remove the folder to start again") from error
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
                    # Through JSON and back, so that fields that an older version did not write have their defaults.
                    candidate=Experiment.from_json(candidate).to_json(),
                    why=data["why"],
                    reproduced=data["reproduced"],
                    seconds=data["seconds"],
                )
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise UsageError(
                    f"{self.log}, line {number + 1}: {error!r}; remove the folder to start again"
                ) from error
            if number == 0 and self._read_origin(trial) != key_of(start.to_json()):
                raise UsageError(
                    f"{self.log}: belongs to another experiment than this run's; remove the folder to start again"
                )
            yield trial
        _replace(self._origin, json.dumps(start.to_json()) + "\n")

    def _read_origin(self, first: Trial) -> str:
        """The key of the experiment that the log belongs to."""
        if not self._origin.exists():
            # A log of a version that ran the unchanged experiment first.
            return key_of(first.candidate)
        return key_of(Experiment.read(self._origin).to_json())

    def write(self, shrunk: Shrunk[ExperimentCandidate], reproduced: Path | None) -> None:
        """Replace both files by the best experiment. reproduced: a run of it that showed the anomaly."""
        best = shrunk.best.experiment
        _replace(self.best, json.dumps(best.to_json(), indent=2) + "\n")
        again = (
            f"kafkacheck replay {shlex.quote(str(reproduced))}"
            if reproduced is not None
            else f"kafkacheck run {shlex.quote(str(self.best))}"
        )
        about = [
            f"{', '.join(sorted(self._names))}: reproduced in {rate_of(shrunk)}, Kafka {best.cluster.version}.",
            "",
            f"Shrunk from {len(self._start.schedule.events)} to {len(best.schedule.events)} fault events; the first "
            f"run is {self._run}.",
            *(f"{doubt[0].upper()}{doubt[1:]}." for doubt in doubts(shrunk)),
            *([] if shrunk.complete else ["Shrinking has not ended: a smaller one may follow."]),
            "It fails as long as the anomaly appears.",
            "",
            f"Replay: {again}",
        ]
        _replace(self.test, pytest_file(best, about="\n".join(about)))


def _replace(file: Path, text: str) -> None:
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.write_text(text)
    os.replace(unfinished, file)
