"""Rewind on real brokers: records that are read again are the same, expired ones are told from lost ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.rewind import Rewind

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}

FAST_RETENTION = ClusterSpec(config={"log.retention.check.interval.ms": 300})


def rows(run: Run, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        pq.ParquetFile(run.path / "history" / table / "part-0.parquet").read().to_pylist()
    )
    return found


def completed(run: Run) -> Mapping[str, int]:
    return Counter(row["f"] for row in rows(run, "operations") if row["type"] == "ok")


def findings(run: Run) -> dict[str, int]:
    return {finding.anomaly: finding.count for finding in run.verdict.findings}


def test_records_that_are_read_again_are_the_same(kafkacheck: Callable[[Experiment], Run]) -> None:
    """Half of the log is deleted underneath."""
    faults = [api.delete_records("partition:0", at=2, share=0.5)]
    run = kafkacheck(Experiment(workload=Rewind(topic_config=SAFE), faults=faults, cooldown=3))
    run.assert_valid()
    assert min(completed(run)["rewind"], completed(run)["search"]) > 3


@pytest.mark.nightly
@pytest.mark.parametrize("library", ["kafka-python", "confluent-kafka"])
def test_mixed_faults_with_safe_settings_are_valid(
    kafkacheck: Callable[[Experiment], Run], library: str
) -> None:
    faults = [
        api.isolate("leader", at=2, lasting=5),
        api.delete_records("partition:0", at=4, share=0.7),
        api.kill("leader", at=9, lasting=4),
        api.pause("one", at=15, lasting=4),
        api.kill_client("role:rewinder", at=16, lasting=2),
    ]
    workload = Rewind(topic_config=SAFE, library=library)
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=6))
    run.assert_valid()
    assert min(completed(run)["rewind"], completed(run)["search"]) > 5


@pytest.mark.nightly
def test_what_retention_removes_unread_is_expired_and_not_lost(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    """While the rewinder is paused, retention removes records that nobody has read. When it continues, its position
    is lost, and it goes on at the start of the log."""
    workload = Rewind(rewinders=1, topic_config={**SAFE, "retention.ms": 1500, "segment.ms": 500})
    faults = [api.pause_client("role:rewinder", at=4, lasting=6)]
    run = kafkacheck(Experiment(cluster=FAST_RETENTION, workload=workload, faults=faults, cooldown=5))
    run.assert_valid()
    assert set(findings(run)) == {"expired"}
    assert completed(run)["position-lost"] > 0


@pytest.mark.nightly
def test_offsets_that_hold_other_records_after_an_unclean_election_are_found(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    """As in examples/test_matrix.py. The same process gets another record at the same offset."""
    unsafe = {"min.insync.replicas": 1, "unclean.leader.election.enable": True}
    faults = [
        api.partition("leader", plane="replication", at=2, lasting=7),
        api.kill("leader", at=8, lasting=12),
    ]
    workload = Rewind(partitions=1, topic_config=unsafe)
    run = kafkacheck(Experiment(workload=workload, faults=faults, expect="invalid"))
    run.assert_invalid("offset-reuse", "lost-write")
    polled: dict[tuple[int, int], set[int]] = defaultdict(set)
    for row in rows(run, "records"):
        if row["f"] == "poll" and not row["final"]:
            polled[row["process"], row["offset"]].add(row["value"])
    assert any(len(values) > 1 for values in polled.values())
