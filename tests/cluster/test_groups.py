"""Consumer groups on real brokers: safe ones are valid, also under faults, and skipped records are found."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.clients.library import library
from workloads.groups import Groups

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}

SHORT_SESSIONS = {
    "group.consumer.min.session.timeout.ms": 3000,
    "group.consumer.session.timeout.ms": 3000,
    "group.consumer.min.heartbeat.interval.ms": 750,
    "group.consumer.heartbeat.interval.ms": 750,
}
"""With the protocol of KIP-848, brokers and not members have the session timeout, 45 s by default."""


def operations(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        pq.ParquetFile(run.path / "history" / "operations" / "part-0.parquet").read().to_pylist()
    )
    return found


def member_events(run: Run) -> Counter[str]:
    return Counter(json.loads(row["value"])["event"] for row in operations(run) if row["f"] == "member")


def sampled_generations(run: Run) -> list[int]:
    """Of the only group, as the probe read them from the coordinator's log."""
    rows = pq.ParquetFile(run.path / "history" / "observations" / "part-0.parquet").read().to_pylist()
    epochs = [json.loads(row["value"])["epoch"] for row in rows if row["kind"] == "group_state"]
    return [epoch for epoch in epochs if epoch is not None]


def test_members_that_leave_and_join_are_valid(kafkacheck: Callable[[Experiment], Run]) -> None:
    """Point-to-point: the members of one group leave in turn, so that each partition changes its owner."""
    workload = Groups(members=3, rejoin=1.5, assignor="cooperative-sticky", topic_config=SAFE)
    run = kafkacheck(Experiment(workload=workload, duration=6))
    run.assert_valid()
    events = member_events(run)
    assert min(events["joined"], events["left"]) > 3
    assert min(events["assigned"], events["revoked"]) > workload.partitions
    said = {row["generation"] for row in operations(run) if row["f"] == "member"}
    assert len(said & set(sampled_generations(run))) > 3


@pytest.mark.nightly
def test_groups_of_one_get_every_record_and_a_schedule_names_them(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    """Publish-subscribe. The nemesis finds a group by the name that it has in the schedule."""
    workload = Groups(groups=2, members=1, partitions=3, commit="periodic", topic_config=SAFE)
    faults = [api.rebalance("group:group-0", at=2), api.pause_client("member:group-1", at=3, lasting=1)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=2))
    run.assert_valid()
    (paused,) = {
        process
        for row in operations(run)
        if row["f"] == "pause-client"
        for process in json.loads(row["value"])["processes"]
    }
    of = {row["group"] for row in operations(run) if row["f"] == "commit" and row["process"] == paused}
    assert {name.rpartition("-")[0] for name in of} == {"group-1"}
    groups = {row["group"] for row in operations(run) if row["f"] == "commit" and row["type"] == "ok"}
    assert {name.rpartition("-")[0] for name in groups} == {"group-0", "group-1"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"assignor": "cooperative-sticky"},
        {"assignor": "roundrobin"},
        {"assignor": "sticky"},
        {"static": True, "rejoin": 3, "commit": "periodic"},
        {"library": "confluent-kafka"},
        {"library": "confluent-kafka", "static": True, "rejoin": 3, "commit": "periodic"},
        {"library": "confluent-kafka", "protocol": "consumer"},
        {"library": "confluent-kafka", "protocol": "consumer", "static": True},
    ],
    ids=lambda values: "-".join(map(str, values.values())) or "default",
)
def test_faults_of_members_and_coordinators_are_valid(
    kafkacheck: Callable[[Experiment], Run], values: dict[str, Any]
) -> None:
    """A paused member is replaced after 3 s. When it continues, its commits are refused."""
    workload = Groups(session_timeout=3, topic_config=SAFE, **values)
    faults = [
        api.kill_client("member:group-0", at=2, lasting=2),
        api.pause_client("member:group-0", at=6, lasting=6),
        api.kill("coordinator:group-0", at=14, lasting=4),
        api.isolate("one", at=21, lasting=5),
    ]
    config = SHORT_SESSIONS if workload.protocol == "consumer" else {}
    cluster = ClusterSpec(config=config)
    run = kafkacheck(Experiment(workload=workload, faults=faults, cluster=cluster, cooldown=5))
    run.assert_valid()
    assert member_events(run)["assigned"] > workload.partitions


def commits(run: Run, kind: str) -> Counter[str]:
    """How those sent within polls ended; kind: in the value of their rows."""
    rows = [row for row in operations(run) if row["f"] == "commit"]
    return Counter(row["type"] for row in rows if json.loads(row["value"]).get(kind))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "values", [{}, {"assignor": "cooperative-sticky"}, {"protocol": "consumer"}], ids=str
)
def test_members_commit_within_the_rebalance_that_takes_partitions_away(
    kafkacheck: Callable[[Experiment], Run], values: dict[str, Any]
) -> None:
    workload = Groups(
        library="confluent-kafka", commit="during-rebalance", rejoin=3, topic_config=SAFE, **values
    )
    run = kafkacheck(Experiment(workload=workload, duration=15))
    run.assert_valid()
    assert (ended := commits(run, "revoked"))["ok"] > 0, ended


@pytest.mark.nightly
def test_automatic_commits_under_faults_are_valid(kafkacheck: Callable[[Experiment], Run]) -> None:
    workload = Groups(
        library="confluent-kafka", commit="auto", session_timeout=3, rejoin=3, topic_config=SAFE
    )
    faults = [
        api.kill_client("member:group-0", at=3, lasting=2),
        api.kill("coordinator:group-0", at=8, lasting=4),
    ]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=5))
    run.assert_valid()
    assert (ended := commits(run, "auto"))["ok"] > workload.partitions, ended


@pytest.mark.nightly
def test_latest_skips_what_follows_a_deleted_position(kafkacheck: Callable[[Experiment], Run]) -> None:
    """While the member stalls, retention removes the position that it had committed. With auto.offset.reset=latest it
    goes on at the log end, and leaves out the records that are still there."""
    workload = Groups(
        members=1,
        partitions=1,
        rate=200,
        session_timeout=30,  # It remains a member.
        auto_offset_reset="latest",
        topic_config=SAFE,
    )
    faults = [
        api.pause_client("role:member", at=6, lasting=6),
        api.delete_records("partition:0", at=8, share=1),
    ]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=10, expect="invalid"))
    found = {finding.anomaly: finding for finding in run.verdict.findings}
    assert "group-skip" in found, str(run.verdict)
    assert set(found) <= {"group-skip", "expired"}


def test_a_join_that_a_poll_left_under_way_is_finished(cluster: DockerCluster) -> None:
    """kafka-python forgets such a join when new partitions were its reason, and the member never polls again."""
    topic = f"growing-{secrets.token_hex(4)}"
    topics.create(cluster.brokers, topic, partitions=1, replication_factor=3)
    settings = Groups(members=1).workers()[1].options["member"]
    member = library("kafka-python").member(
        bootstrap=tuple(cluster.brokers.values()), topics=(topic,), group=topic, settings=settings
    )

    for number in (1, 2, 3, 4):
        if number > 1:
            cluster.kafka.add_partitions(topic, number)
        deadline = time.monotonic() + 60
        while len(member.positions) < number:
            assert time.monotonic() < deadline, (number, member.positions)
            member.poll(0.001)  # too short for the coordinator's answers
    member.close()
