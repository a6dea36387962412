"""Bounds on real brokers: an outage longer than an experiment allows is found, also when it is judged again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pytest_kafkacheck as api
from analyzers.catalogue.bounds import Bounds
from analyzers.judge.analyze import analyze
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(600)]


def test_an_outage_is_measured_against_the_bounds(tmp_path: Path) -> None:
    """All brokers are paused for 8 s: nobody acknowledges meanwhile, and everybody soon after."""
    experiment = Experiment(
        workload=AppendLog(partitions=1),
        faults=[api.pause("all", at=3, lasting=8)],
        bounds=Bounds(unavailable=4, recovery=60),
    )
    with Harness(tmp_path) as harness:
        run = harness.run(experiment)
        again = harness.judge(run.path)
        (log,) = run.verdict.availability.logs
        assert log.recovery
        stricter = replace(experiment.bounds, recovery=log.recovery / 2)
        (strict,) = analyze(harness.spark.session(), [run.path], bounds=stricter).values()
    assert Experiment.read(run.path / "experiment.json").bounds == experiment.bounds
    assert {finding.anomaly for finding in run.verdict.findings} == {"unavailable"}
    assert again.verdict == run.verdict
    assert {finding.anomaly for finding in strict.findings} == {"unavailable", "slow-recovery"}
