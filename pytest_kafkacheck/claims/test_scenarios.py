"""The scenarios as tests: ``pytest --pyargs pytest_kafkacheck.claims``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_kafkacheck.claims.claim import Scenario, all_scenarios
from pytest_kafkacheck.claims.run import by_cluster, run_once
from pytest_kafkacheck.errors import VerdictError

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.harness import Harness


@pytest.mark.kafkacheck(alone=True)
@pytest.mark.parametrize("scenario", by_cluster(all_scenarios()), ids=lambda scenario: scenario.name)
def test_scenario(
    _kafkacheck_harness: Harness,  # noqa: PT019 - it has a value
    scenario: Scenario,
    record_property: Callable[[str, object], None],
) -> None:
    shown = run_once(_kafkacheck_harness, scenario)
    for name, value in shown.figures.items():
        record_property(name, value)
    if shown.error is not None:
        raise shown.error
    if shown.outcome != scenario.case.expected:
        raise VerdictError(f"{shown.outcome}, expected {scenario.case.expected}: {shown.seen}")
