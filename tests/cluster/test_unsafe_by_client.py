"""The same unsafe experiments with three client libraries: each shows the same kind of finding.

One finding has another name by library, see `SKIPS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.java_client import java_library
from workloads.append_log import AppendLog
from workloads.groups import Groups

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(400)]

LIBRARIES: dict[str, Callable[[], str]] = {
    "kafka-python": lambda: "kafka-python",
    "confluent-kafka": lambda: "confluent-kafka",
    "java": java_library,
}

SOON: dict[str, dict[str, Any]] = {
    "kafka-python": {"request_timeout_ms": 1000},
    "confluent-kafka": {"socket.timeout.ms": 1000},
    "java": {"request.timeout.ms": 1000},
}
"""Before a producer sends again."""

SKIPS = {"kafka-python": "group-skip", "confluent-kafka": "poll-skip", "java": "poll-skip"}
"""What a reset to the end of the log shows. kafka-python tells where it resets a position, so a new assignment begins
there; with the others, the same assignment goes on with a later record."""

SAFE = {"min.insync.replicas": 2}


@pytest.fixture(params=LIBRARIES)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def findings(run: Run) -> set[str]:
    return {finding.anomaly for finding in run.verdict.findings}


def test_writes_that_an_isolated_leader_acknowledged_alone_are_lost(
    kafkacheck: Callable[[Experiment], Run], client: str
) -> None:
    workload = AppendLog(
        library=LIBRARIES[client](), acks=1, partitions=1, rate=500, topic_config={"min.insync.replicas": 1}
    )
    faults = [api.isolate("leader", at=2, lasting=8)]
    run = kafkacheck(Experiment(name=f"acks-1-{client}", workload=workload, faults=faults, cooldown=2))
    run.assert_invalid("lost-write")


def test_without_idempotence_a_lost_response_duplicates_records(
    kafkacheck: Callable[[Experiment], Run], client: str
) -> None:
    workload = AppendLog(
        library=LIBRARIES[client](),
        partitions=1,
        sessions=0,
        rate=100,
        idempotence=False,
        client=SOON[client],
        topic_config=SAFE,
    )
    faults = [api.cut_clients("leader", one_way="out", at=2, lasting=4)]
    run = kafkacheck(Experiment(name=f"retries-{client}", workload=workload, faults=faults, cooldown=2))
    run.assert_valid()
    assert "duplicate" in findings(run)


def test_without_idempotence_a_producer_that_misses_answers_duplicates_records(
    kafkacheck: Callable[[Experiment], Run], client: str
) -> None:
    """Only one of two producers, and only from the leader: the other one writes its records once."""
    workload = AppendLog(
        library=LIBRARIES[client](),
        partitions=1,
        producers=2,
        sessions=0,
        rate=100,
        idempotence=False,
        client=SOON[client],
        topic_config=SAFE,
    )
    faults = [api.isolate_client("client:0", brokers="leader", one_way="in", at=2, lasting=4)]
    run = kafkacheck(Experiment(name=f"one-way-{client}", workload=workload, faults=faults, cooldown=2))
    run.assert_valid()
    assert "duplicate" in findings(run)


def test_latest_skips_what_follows_a_deleted_position(
    kafkacheck: Callable[[Experiment], Run], client: str
) -> None:
    workload = Groups(
        library=LIBRARIES[client](),
        members=1,
        partitions=1,
        rate=200,
        session_timeout=30,
        auto_offset_reset="latest",
        topic_config=SAFE,
    )
    faults = [
        api.pause_client("role:member", at=6, lasting=6),
        api.delete_records("partition:0", at=8, share=1),
    ]
    run = kafkacheck(Experiment(name=f"latest-{client}", workload=workload, faults=faults, cooldown=10))
    run.assert_invalid(SKIPS[client])
    assert findings(run) <= {SKIPS[client], "expired"}
