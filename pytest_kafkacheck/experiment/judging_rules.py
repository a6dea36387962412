"""What judging a run reads from its experiment.json. A workload of the user need not be loadable for it.

A run may be judged on another machine, or after a test file was moved, so experiment.json stores what the judgement
needs of such a workload. Built-in workloads are always there; they say it themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import get_args

from analyzers.catalogue.bounds import NONE, Bounds
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment, read_bounds, read_format
from pytest_kafkacheck.experiment.validation import Expectation
from workloads.stored import stored_judging


@dataclass(frozen=True, kw_only=True)
class JudgingRules:
    """By which a run is judged.

    expect   the verdict expected by the command line.
    bounds   how long clients may be kept waiting.
    allowed  names of anomalies that the workload does not promise to prevent.
    """

    expect: Expectation = "valid"
    bounds: Bounds = NONE
    allowed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, experiment: Experiment) -> JudgingRules:
        return cls(
            expect=experiment.expect, bounds=experiment.bounds, allowed=frozenset(experiment.workload.allowed)
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
            )
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}: {error}") from error
