"""The directory of one run."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment

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
    ``verdict.json``      the verdict.
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
    def logs(self) -> Path:
        return self.path / "logs"

    def read_experiment(self) -> Experiment:
        """Raises UsageError naming the file."""
        return Experiment.read(self.path / "experiment.json")

    def write_experiment(self, experiment: Experiment) -> None:
        (self.path / "experiment.json").write_text(json.dumps(experiment.to_json(), indent=2) + "\n")
