"""Transactions on real brokers: those that stay open for too long are aborted, although their client goes on."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.transactions import Transactions

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(300)]


def test_the_coordinator_aborts_what_stays_open_for_longer_than_its_timeout(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    workload = Transactions(stalls=0.2, timeout=2, topic_config={"min.insync.replicas": 2})
    run = kafkacheck(Experiment(workload=workload, duration=15))
    run.assert_valid()
    operations = pq.ParquetFile(run.path / "history" / "operations" / "part-0.parquet").read().to_pylist()
    transactions = [each | json.loads(each["value"]) for each in operations if each["f"] == "txn"]
    stalled = [each for each in transactions if (each["ending"] or 0) - each["invoked"] > 2 * 10**9]
    assert len(stalled) > 2
    assert "ok" not in {each["type"] for each in stalled}
