"""A real run of every workload, with its default settings, is judged the same through JSON lines and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from analyzers.judge.analyze import analyze
from pytest_kafkacheck.cluster.spec.release import NEWEST
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from tests.support.java_client import java_library
from tests.support.round_trip import comparable, through_lines
from workloads.stored import built_in

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(400)]

COPIER = Path(__file__).parents[2] / "examples" / "applications" / "copier.py"

PLACES = ("{bootstrap}", "{source}", "{sink}", "{group}", "{client}")

CLUSTER = ClusterSpec(version=NEWEST.tested)
"""Share groups are in production there. All workloads share it."""


def needed(name: str) -> dict[str, Any]:
    """The settings without which there is no such workload."""
    if name == "queue":
        java_library()  # which is its default
    return {"command": [sys.executable, str(COPIER), *PLACES]} if name == "pipeline" else {}


WORKLOADS = {kind.declaration.name: kind for kind in built_in().values()}


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_a_run_is_judged_the_same(harness: Harness, tmp_path: Path, name: str) -> None:
    workload = WORKLOADS[name](**needed(name))
    run = harness.run(Experiment(workload=workload, cluster=CLUSTER, duration=4, cooldown=0.5))
    again = through_lines(run.path, tmp_path / "again")
    of_run, imported = (analyze(harness.spark.session(), [home]).popitem()[1] for home in (run.path, again))
    assert comparable(imported) == comparable(of_run)
