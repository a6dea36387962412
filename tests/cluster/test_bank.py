"""Transfers on real brokers: every snapshot has the right total, unless an unclean election loses halves of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.bank import Bank

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}


def table(run: Run, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        pq.ParquetFile(run.path / "history" / name / "part-0.parquet").read().to_pylist()
    )
    return found


def totals(run: Run) -> dict[int, list[int]]:
    """Per process: the total of each of its snapshots of all partitions, as it saw it. For a run in which no position
    was lost."""
    polls = [row for row in table(run, "records") if row["f"] == "poll" and row["amount"] is not None]
    ends: dict[int, dict[int, dict[Any, int]]] = {}
    for row in table(run, "operations"):
        number = json.loads(row["value"]).get("snapshot") if row["f"] == "read" else None
        if number is not None and row["type"] == "ok":
            log = row["topic"], row["partition"]
            ends.setdefault(row["process"], {}).setdefault(number, {})[log] = row["end_offset"]
    return {
        process: [
            sum(
                poll["amount"]
                for poll in polls
                if poll["process"] == process
                and poll["offset"] < end.get((poll["topic"], poll["partition"]), 0)
            )
            for _, end in sorted(of_process.items())
            if len(end) == 4
        ]
        for process, of_process in ends.items()
    }


@pytest.mark.parametrize(
    "library", ["kafka-python", pytest.param("confluent-kafka", marks=pytest.mark.nightly)]
)
def test_the_total_is_conserved(kafkacheck: Callable[[Experiment], Run], library: str) -> None:
    run = kafkacheck(Experiment(workload=Bank(library=library, topic_config=SAFE, rate=200), duration=5))
    run.assert_valid()
    by_process = totals(run)
    reader, auditor = sorted(by_process)
    assert by_process[auditor] == [0]
    assert len(by_process[reader]) >= 5
    assert run.verdict.exercised.snapshots_of_transfers >= 5


@pytest.mark.nightly
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"library": "confluent-kafka"},
        {"rivals": 1, "stalls": 0.02, "timeout": 3},
        {"snapshot_readers": 3},
    ],
)
def test_faults_of_transactors_coordinators_and_leaders_are_valid(
    kafkacheck: Callable[[Experiment], Run], values: dict[str, Any]
) -> None:
    faults = [
        api.kill_client("role:transactor", at=2, lasting=2),
        api.pause_client("role:transactor", at=6, lasting=4),
        api.kill("transaction-coordinator:transactor-0", at=12, lasting=4),
        api.partition([[1], [2, 3]], plane="replication", at=20, lasting=5),
        api.pause("leader", at=29, lasting=4),
    ]
    workload = Bank(topic_config=SAFE, **values)
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=14))
    run.assert_valid()


@pytest.mark.nightly
def test_an_unclean_election_loses_halves_of_transfers(kafkacheck: Callable[[Experiment], Run]) -> None:
    """Partition 0 of both topics goes on without its latest records; partition 1 keeps them."""
    workload = Bank(
        replication_factor=2,
        topic_config={"min.insync.replicas": 1, "unclean.leader.election.enable": True},
        assignment={0: [1, 2], 1: [3, 1]},
        aborts=0.0,
    )
    faults = [
        api.partition([[1], [2]], plane="replication", at=3, lasting=12),
        api.kill(1, after="isr-shrink", at=3, lasting=10),
    ]
    run = kafkacheck(Experiment(workload=workload, faults=faults, expect="invalid"))
    run.assert_invalid("wrong-total", "torn-transaction", "lost-write")
