"""A cluster that does not recover: the run ends with a verdict about what it recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzers.catalogue.bounds import Bounds
from pytest_kafkacheck import pause_client
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly]


def test_a_run_whose_cluster_does_not_recover_is_judged_by_what_it_recorded(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A broker is killed behind the back of the run and stays down, so the only replica of a partition is gone."""
    experiment = Experiment(
        workload=AppendLog(
            partitions=2,
            replication_factor=1,
            assignment={0: [1], 1: [3]},
            rate=100,
            readers=0,
            sessions=0,
        ),
        faults=[pause_client("producer", at=1, lasting=0.5)],
        cooldown=2,
        recovery_limit=1,
        bounds=Bounds(unavailable=0.001),
    )
    with harness.cluster(experiment.cluster, logs=tmp_path, alone=True) as cluster:
        killed = []

        def kill_under_load(line: str) -> None:
            if line.startswith("load is on"):
                cluster.nodes[3].kill()
                killed.append(3)

        monkeypatch.setattr(harness, "_say", kill_under_load)
        run = harness.run(experiment)
    harness.drop_cluster()
    assert killed == [3]
    verdict = run.verdict
    # Nobody can read what broker 3 acknowledged before it was killed.
    assert {each.anomaly for each in verdict.findings} == {"unavailable", "unseen", "silent-partition"}
    assert verdict.result == "invalid"
    assert verdict.unknowns[0] == "The cluster had not recovered after 1 s: brokers [3] do not answer."
    assert any("-1 was written, but its final read could not begin (" in why for why in verdict.unknowns)
    assert (verdict.exercised.phase, verdict.exercised.final_reads) == ("end", {"ok": 1})
    assert verdict.exercised.acks > 0
    without_bounds = replace(verdict, findings=(), result="unknown")
    assert "had not recovered" in "\n".join(without_bounds.text().splitlines()[:4])
