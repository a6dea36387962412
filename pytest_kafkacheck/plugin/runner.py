"""What the fixture `kafkacheck` gives to a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.experiment import Experiment
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.run import Run


@contextmanager
def skipped_where_impossible() -> Iterator[None]:
    """Skip the test where the host cannot do one of its faults; the reason says which one, and why."""
    from pytest_kafkacheck.errors import CapabilityError

    try:
        yield
    except CapabilityError as error:
        pytest.skip(str(error))


class Kafkacheck:
    """The fixture's value: call it with an experiment, get a `Run`."""

    def __init__(self, harness: Harness, *, name: str, unknown: bool) -> None:
        self.runs: list[Run] = []
        self._harness = harness
        self._name = name
        self._unknown = unknown

    def __call__(self, experiment: Experiment) -> Run:
        """Run an experiment on a real cluster and judge it; skip the test where the host cannot do a fault.

        Raises InfrastructureError when it recorded nothing to judge, UsageError when it makes no sense.
        """
        __tracebackhide__ = True
        with skipped_where_impossible():
            run = self._harness.run(experiment, name=experiment.name or self._name)
        run.accept_unknown = self._unknown
        self.runs.append(run)
        return run

    def check_looked_at(self) -> None:
        """Fail the test if it ran an experiment, looked at no verdict, and the verdict is not valid.

        A test that forgets to look at the verdict would otherwise pass although acknowledged writes were lost.
        """
        for run in self.runs:
            if not run.looked_at and run.result != "valid":
                self._harness.has_failed = True
                reason = "the test looked at no verdict, and this one is not valid"
                pytest.fail(f"{reason}: {run.text()}", pytrace=False)
