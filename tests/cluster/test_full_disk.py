"""A disk that becomes full during a run: its load ends early, and what was recorded is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from nemesis.faults.pause import pause
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from tests.support.small_disk import small_disk
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]


def test_the_history_so_far_is_judged(tmp_path: Path) -> None:
    experiment = Experiment(workload=AppendLog(rate=3000), faults=[pause("one", at=60, lasting=30)])
    with small_disk(tmp_path / "small", mb=72) as disk, Harness(disk) as harness:
        run = harness.run(experiment)
        assert run.result == "unknown"
        assert run.verdict.exercised.acks > 0
        assert any("the end of the run needs" in reason for reason in run.verdict.unknowns)
