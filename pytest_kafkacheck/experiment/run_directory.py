"""The directory of one run, and what judging the run reads from its experiment.json.

A run may be judged on another machine, or after a test file was moved, so experiment.json stores what the judgement
needs of a user's workload, which need not be loadable then. Built-in workloads are always there; they say it
themselves.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.history.fault_events import spoken
from analyzers.verdict.promises import ALWAYS_REQUIRED
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment, read_bounds, read_format, read_requires
from pytest_kafkacheck.experiment.validation import Expectation
from pytest_kafkacheck.stored_json import parse_json, read_text
from workloads.pipeline import APP
from workloads.stored import producer_settings, stored_judging

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
    ``report.html``       the run at a glance, if it was asked for (docs/verdict.md).
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
        return JudgingRules.parse(read_text(self.experiment), str(self.experiment))

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


@dataclass(frozen=True, kw_only=True)
class JudgingRules:
    """By which a run is judged.

    expect    the verdict expected by the command line.
    bounds    how long clients may be kept waiting.
    allowed   names of anomalies that the workload does not promise to prevent.
    schedule  the fault events to be carried out: id to a name for messages.
    requires  names of promises that the run has to exercise.
    settings  of its producers, as Kafka spells them: what the causes of findings are explained with.
    """

    expect: Expectation = "valid"
    bounds: Bounds = NONE
    allowed: frozenset[str] = frozenset()
    schedule: Mapping[str, str] = field(default_factory=dict)
    requires: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, experiment: Experiment) -> JudgingRules:
        return cls(
            expect=experiment.expect,
            bounds=experiment.bounds,
            allowed=frozenset(experiment.workload.allowed),
            schedule=_schedule(experiment.schedule.to_json()),
            requires=experiment.required,
            settings=producer_settings(experiment.workload),
        )

    @classmethod
    def parse(cls, text: str, file: str) -> JudgingRules:
        """From the text of an experiment.json. Raises UsageError naming the file.

        The workload is loaded only if it is built in, or if an earlier version stored it without what judging needs.
        """
        content = parse_json(text, file)
        try:
            data = read_format(content)
            stored = stored_judging(data.get("workload"))
            if stored is None:
                return cls.of(Experiment.from_json(data))
            if (expect := data.get("expect", "valid")) not in get_args(Expectation):
                raise UsageError(f"expect {expect!r}: expected one of {', '.join(get_args(Expectation))}")
            return cls(
                expect=expect,
                bounds=read_bounds(data["bounds"]) if "bounds" in data else NONE,
                allowed=stored.allowed,
                schedule=_schedule(data.get("faults", [])),
                requires=read_requires(data["requires"])
                if "requires" in data
                else stored.requires | ALWAYS_REQUIRED,
                settings=stored.settings,
            )
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}: {error}") from error


def _schedule(events: Any) -> dict[str, str]:
    """From the JSON of a schedule. Raises ValueError for JSON of another form; a fault need not be known here."""
    if not isinstance(events, Sequence) or not all(
        isinstance(each, Mapping) and {"id", "fault", "target"} <= each.keys() for each in events
    ):
        raise ValueError(f"faults {events!r}: expected a list of events with id, fault and target")
    return {str(each["id"]): _spoken(str(each["fault"]), str(each["target"])) for each in events}


def _spoken(fault: str, target: str) -> str:
    """As the schedule has it: ``kill app:0``, where the kind of fault is kill-client."""
    role, _, number = target.partition(":")
    return f"{spoken(fault, [f'{role}:{number or 0}'] if role == APP.name else ())} {target}"
