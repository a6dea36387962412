"""Nothing fails, and one configuration has the cluster alone, at full speed."""

from __future__ import annotations

from pytest_kafkacheck.matrix.scenario import Scenario

SCENARIO = Scenario(name="undisturbed", alone=True, warm_up=2.0, duration=5.0, rate=None)
