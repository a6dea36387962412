"""Partitions that are added during a run: clients of every kind write to them and read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.java_client import java_library
from workloads.append_log import AppendLog
from workloads.copying import Copy
from workloads.groups import Groups
from workloads.rewind import Rewind
from workloads.sessions import Sessions
from workloads.transactions import Transactions
from workloads.workload import Workload

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

SAFE = {"min.insync.replicas": 2}

WORKLOADS: dict[str, Callable[[], Any]] = {
    "append-log": lambda: AppendLog(producers=1, readers=1, rate=200, topic_config=SAFE),
    "confluent-kafka": lambda: AppendLog(library="confluent-kafka", rate=200, topic_config=SAFE),
    "java": lambda: AppendLog(library=java_library(), rate=200, topic_config=SAFE),
    "groups": lambda: Groups(rate=200, topic_config=SAFE),
    "sessions": lambda: Sessions(writes_per_client=5, topic_config=SAFE),
    "transactions": lambda: Transactions(topic_config=SAFE),
    "rewind": lambda: Rewind(topic_config=SAFE),
    "copy": lambda: Copy(topic_config=SAFE),
}


def counted(run: Run, workload: Workload) -> dict[str, Counter[int]]:
    """Records of the main topic by partition: sent, polled, and found by the final read."""
    topic = workload.topics(run.verdict.run)[0].name
    rows = pq.ParquetFile(run.path / "history" / "records" / "part-0.parquet").read().to_pylist()
    kinds: dict[str, Counter[int]] = {"sent": Counter(), "polled": Counter(), "finally": Counter()}
    for row in rows:
        if row["topic"] == topic and row["type"] == "ok":
            kind = "finally" if row["final"] else {"send": "sent", "poll": "polled"}[row["f"]]
            kinds[kind][row["partition"]] += 1
    return kinds


@pytest.mark.parametrize(
    "name", ["append-log", *(pytest.param(each, marks=pytest.mark.nightly) for each in [*WORKLOADS][1:])]
)
def test_clients_use_partitions_that_are_added(kafkacheck: Callable[[Experiment], Run], name: str) -> None:
    workload = WORKLOADS[name]()
    faults = [api.add_partitions(at=0.5)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=5))
    run.assert_valid()
    assert not {each.anomaly for each in run.verdict.findings} & {"added-partition-skip", "group-skip"}
    for kind, partitions in counted(run, workload).items():
        assert partitions[workload.partitions] > 0, (kind, partitions)
