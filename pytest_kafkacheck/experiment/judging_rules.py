"""What judging a run reads from its experiment.json. A workload of the user need not be loadable for it.

A run may be judged on another machine, or after a test file was moved, so experiment.json stores what the judgement
needs of such a workload. Built-in workloads are always there; they say it themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from analyzers.catalogue.check import NONE, Bounds
from analyzers.history.fault_events import spoken
from analyzers.verdict.promises import ALWAYS_REQUIRED
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment, read_bounds, read_format, read_requires
from pytest_kafkacheck.experiment.validation import Expectation
from workloads.pipeline import APP
from workloads.stored import producer_settings, stored_judging


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
        try:
            data = read_format(json.loads(text))
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
