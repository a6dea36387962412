"""Live judging on real brokers: every anomaly that is reported during the run is also in the verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pytest_kafkacheck as api
from analyzers.judge.live import EITHER
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(600)]


def test_every_anomaly_reported_during_the_run_is_in_the_verdict(tmp_path: Path) -> None:
    """A paused leader holds writes that no other broker has; with acks=1 the next leader reuses their offsets."""
    said: list[str] = []
    workload = AppendLog(partitions=1, acks=1, idempotence=False)
    faults = [api.pause("leader", at=5, lasting=6), api.pause("leader", at=25, lasting=6)]
    experiment = Experiment(workload=workload, faults=faults, cooldown=60, live_checks=True)
    with Harness(tmp_path, say=said.append) as harness:
        run = harness.run(experiment)
    found = {finding.anomaly for finding in run.verdict.findings}
    file = run.path / "live.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    assert {"failed" for line in said if line.startswith("live: judging during the run failed")} == set()
    assert all(found & ({line["anomaly"], *line["or"]}) for line in lines)
    if found & EITHER["offset-reuse"]:
        assert any(EITHER["offset-reuse"] & set(line["or"]) for line in lines)
