"""The directory of one run."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.judging_rules import JudgingRules

NAME_LIMIT = 80
"""Characters of an experiment's name that become part of the directory's name."""


@dataclass(frozen=True)
class RunDirectory:
    """Everything needed to judge a run again, also on another machine.

    ``experiment.json``   the experiment.
    ``environment.json``  versions, and where partitions lay when the run began.
    ``history/``          what clients, probes and faults did.
    ``logs/<node>.log``   what the nodes printed.
    ``live.jsonl``        what was found while it ran, with ``live_checks``.
    ``verdict.json``      the verdict, see docs/verdict.md.
    ``report.html``       the run at a glance, if it was asked for (docs/report.md).
    """

    path: Path

    @classmethod
    def create(cls, parent: Path, *, name: str, run: str) -> RunDirectory:
        """Make a new one. It is named after the time, `name` and the run's id, so that listings are in order of time.

        Raises UsageError when it cannot be made.
        """
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-")[:NAME_LIMIT]
        path = parent / f"{time.strftime('%Y%m%d-%H%M%S')}-{slug}-{run}"
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise UsageError(
                f"{parent}: no run can be kept there ({error}); name a directory that can be written to"
            ) from error
        return cls(path)

    @property
    def experiment(self) -> Path:
        return self.path / "experiment.json"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"

    @property
    def history(self) -> Path:
        return self.path / "history"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def live(self) -> Path:
        return self.path / "live.jsonl"

    @property
    def verdict(self) -> Path:
        return self.path / "verdict.json"

    def read_experiment(self) -> Experiment:
        """The experiment, to be run again. Raises UsageError naming the file, also where its workload is missing."""
        return Experiment.read(self.experiment)

    def read_judging_rules(self) -> JudgingRules:
        """By which the run is judged. Raises UsageError naming the file."""
        try:
            text = self.experiment.read_text()
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.experiment}: {error}") from error
        return JudgingRules.parse(text, str(self.experiment))

    def read_verdict(self) -> Verdict | None:
        """The stored verdict; None where there is none, or one that this version cannot read."""
        try:
            return Verdict.from_json(self.verdict.read_text())
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def read_clock(self) -> tuple[int, int] | None:
        """CLOCK_MONOTONIC and the date (Unix) of one instant, ns; None where environment.json does not say."""
        try:
            clock = json.loads(self.environment.read_text())["clock"]
            return int(clock["monotonic_ns"]), int(clock["unix_ns"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def node_logs(self) -> dict[str, Path]:
        """The log of each node, by its name; those of client processes are not among them."""
        found = {file.stem: file for file in sorted(self.logs.glob("*.log"))}
        return {name: file for name, file in found.items() if not name.startswith("client-")}

    def write_experiment(self, experiment: Experiment) -> None:
        self.experiment.write_text(json.dumps(experiment.to_json(), indent=2) + "\n")

    def write_verdict(self, verdict: Verdict) -> None:
        self.verdict.write_text(verdict.to_json() + "\n")
