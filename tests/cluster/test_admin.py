"""Admin on real brokers: topics change while others work, and no broker forgets what was acknowledged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.admin import Admin

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}

CHANGES = {"create", "delete", "partitions", "config", "replicas"}


def operations(run: Run, f: str) -> list[dict[str, Any]]:
    rows = pq.ParquetFile(run.path / "history" / "operations" / "part-0.parquet").read().to_pylist()
    return [row | {"value": json.loads(row["value"] or "{}")} for row in rows if row["f"] == f]


def deletions(run: Run) -> dict[tuple[str, int], dict[int, bool]]:
    """By partition: the offsets up to which administrators asked leaders to delete records, each with whether one
    acknowledged it. Each answer has a request that was written before it."""
    rows = operations(run, "deletion")
    requests = {row["op"]: row["end_offset"] for row in rows if row["completed"] is None}
    answers = [row for row in rows if row["completed"] is not None]
    assert {row["op"]: row["end_offset"] for row in answers}.items() <= requests.items()
    acknowledged = [row for row in answers if row["type"] == "ok"]
    assert acknowledged
    assert all(row["value"]["low_watermark"] >= row["end_offset"] for row in acknowledged)
    asked: dict[tuple[str, int], dict[int, bool]] = {}
    for row in [*rows, *acknowledged]:
        asked.setdefault((row["topic"], row["partition"]), {})[row["end_offset"]] = row["type"] == "ok"
    return asked


def starts(run: Run) -> dict[tuple[str, int], int]:
    """By partition: the start of the log that the final read found."""
    return {(row["topic"], row["partition"]): row["start_offset"] for row in operations(run, "final-read")}


def test_topics_that_change_are_known_to_every_broker(kafkacheck: Callable[[Experiment], Run]) -> None:
    run = kafkacheck(Experiment(workload=Admin(topic_config=SAFE), duration=6))
    run.assert_valid()
    acknowledged = Counter(row["value"]["change"] for row in operations(run, "alter") if row["type"] == "ok")
    assert set(acknowledged) == CHANGES, acknowledged
    inspected = [row for row in operations(run, "inspect") if row["type"] == "ok"]
    assert {row["value"]["node"] for row in inspected} == {1, 2, 3}
    assert {row["value"]["exists"] for row in inspected} == {True, False}
    for log, asked in deletions(run).items():
        start = starts(run)[log]
        assert start in {0, *asked}
        assert all(offset <= start for offset, is_acknowledged in asked.items() if is_acknowledged)


@pytest.mark.nightly
def test_faults_of_brokers_and_administrators_are_valid(kafkacheck: Callable[[Experiment], Run]) -> None:
    faults = [
        api.kill("controller", at=2, lasting=4),
        api.isolate("leader", at=8, lasting=4),
        api.kill_client("role:administrator", at=14, lasting=2),
        api.pause("one", at=17, lasting=4),
        api.delete_records("partition:0", at=23, share=0.3),
    ]
    run = kafkacheck(Experiment(workload=Admin(topic_config=SAFE), faults=faults, cooldown=6))
    run.assert_valid()
    assert {row["type"] for row in operations(run, "alter")} >= {"ok", "info"}
    for log, asked in deletions(run).items():
        start = starts(run)[log]
        assert all(offset <= start for offset, is_acknowledged in asked.items() if is_acknowledged)
