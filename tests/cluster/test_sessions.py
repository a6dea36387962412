"""Sessions on real brokers: reads from leaders are valid, also under faults, and followers serve old states."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.spec.settings import RACK_AWARE, SELECTOR
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.sessions import Sessions

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}

FOLLOWERS = api.ClusterSpec(
    racks=("a", "b", "c"),
    # Kafka's default; the profile of kafkacheck has 100 ms.
    config={SELECTOR: RACK_AWARE, "replica.fetch.wait.max.ms": "500"},
)

LEADERS = {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}

FAULTS = (
    api.isolate("leader", at=2, lasting=5),
    api.kill("one", at=10, lasting=4),
    api.pause("leader", at=18, lasting=5),
)


def read_nodes(run: Run) -> dict[int, set[int | None]]:
    """By partition, the brokers that reported the ends of its completed reads."""
    path = run.path / "history" / "operations" / "part-0.parquet"
    found: dict[int, set[int | None]] = {}
    for row in pq.ParquetFile(path).read().to_pylist():
        if row["f"] == "read" and row["type"] == "ok":
            found.setdefault(row["partition"], set()).add(json.loads(row["value"] or "{}").get("node"))
    return found


def test_sessions_that_read_from_leaders_find_their_writes(kafkacheck: Callable[[Experiment], Run]) -> None:
    run = kafkacheck(Experiment(workload=Sessions(writes_per_client=5, topic_config=SAFE), duration=6))
    run.assert_valid()
    staleness = run.verdict.staleness
    assert staleness is not None
    assert (staleness.missed, run.verdict.findings) == (0, ())
    assert staleness.reads > 60
    assert set().union(*read_nodes(run).values()) == {None}, "the leader was asked for the end"


@pytest.mark.nightly
@pytest.mark.parametrize("library", ["kafka-python", "confluent-kafka"])
def test_faults_of_brokers_leave_leaders_reads_valid(
    kafkacheck: Callable[[Experiment], Run], library: str
) -> None:
    workload = Sessions(writes_per_client=5, topic_config=SAFE, library=library)
    kafkacheck(Experiment(workload=workload, faults=FAULTS, cooldown=10)).assert_valid()


@pytest.mark.nightly
def test_followers_miss_own_writes_until_their_next_fetch_returns(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    """In a healthy cluster. The follower has the record; that it may serve it, it learns with the answer to its next
    fetch, which waits for 500 ms."""
    # With more sessions, the record of another one ends the wait of the fetch: 1,489 of 1,689 missed theirs with 6.
    workload = Sessions(read_from="follower", writes_per_client=5, topic_config=SAFE, assignment=LEADERS)
    run = kafkacheck(Experiment(workload=workload, cluster=FOLLOWERS, duration=60))
    run.assert_valid()
    staleness = run.verdict.staleness
    assert staleness is not None
    assert staleness.missed >= 200
    assert staleness.missed >= 0.95 * staleness.reads
    (missed,) = (each for each in run.verdict.findings if each.anomaly == "read-your-writes")
    assert (missed.count, missed.allowed) == (staleness.missed, True)
    assert staleness.median is not None
    assert 0.4 < staleness.median < 0.8, "replica.fetch.wait.max.ms, and a little"
    nodes = read_nodes(run)
    assert all(nodes[partition] == {*replicas[1:]} for partition, replicas in LEADERS.items()), nodes


@pytest.mark.nightly
def test_faults_of_brokers_leave_followers_reads_stale_and_nothing_else(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    workload = Sessions(read_from="follower", writes_per_client=5, topic_config=SAFE)
    run = kafkacheck(Experiment(workload=workload, cluster=FOLLOWERS, faults=FAULTS, cooldown=10))
    run.assert_valid()
    assert {finding.anomaly for finding in run.verdict.findings} <= workload.allowed
