"""Copying from topic to topic on real brokers: exactly once is exactly once, and the other guarantees are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.copying import Copy

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAFE = {"min.insync.replicas": 2}


def records(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        pq.ParquetFile(run.path / "history" / "records" / "part-0.parquet").read().to_pylist()
    )
    return found


def copies(run: Run) -> Counter[int]:
    """Per value of the source: its copies that readers of committed records got."""
    sources = {
        row["value"]: row["source"]
        for row in records(run)
        if row["f"] == "poll" and row["committed"] and row["source"] is not None
    }
    return Counter(sources.values())


@pytest.mark.parametrize(
    "library", ["kafka-python", pytest.param("confluent-kafka", marks=pytest.mark.nightly)]
)
def test_each_record_has_one_copy(kafkacheck: Callable[[Experiment], Run], library: str) -> None:
    run = kafkacheck(Experiment(workload=Copy(library=library, topic_config=SAFE), duration=5))
    run.assert_valid()
    found = copies(run)
    assert set(found.values()) == {1}
    assert len(found) > 100


@pytest.mark.nightly
@pytest.mark.parametrize(
    "values",
    [{}, {"library": "confluent-kafka"}, {"assignor": "cooperative-sticky"}, {"copiers": 3, "work": 0.4}],
)
def test_faults_of_copiers_and_coordinators_are_valid(
    kafkacheck: Callable[[Experiment], Run], values: dict[str, Any]
) -> None:
    """A paused copier is replaced after 3 s. When it continues, its transaction is refused."""
    workload = Copy(session_timeout=3, topic_config=SAFE, **values)
    faults = [
        api.kill_client("role:copier", at=2, lasting=2),
        api.pause_client("role:copier", at=6, lasting=6),
        api.kill("coordinator:copiers", at=14, lasting=4),
        api.kill("transaction-coordinator:copier-0", at=21, lasting=4),
        api.isolate("leader", at=28, lasting=5),
    ]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=6))
    run.assert_valid()
    assert set(copies(run).values()) == {1}


@pytest.mark.nightly
def test_at_least_once_repeats_copies(kafkacheck: Callable[[Experiment], Run]) -> None:
    """A copier is killed between its copies and its positions."""
    workload = Copy(guarantee="at-least-once", work=1, batch=500, session_timeout=2, topic_config=SAFE)
    faults = [api.kill_client("roles:copier", at=2.5, lasting=0.5)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=3, expect="invalid"))
    run.assert_invalid("duplicate-copy")
    assert {finding.anomaly for finding in run.verdict.findings} == {"duplicate-copy"}
    assert max(copies(run).values()) > 1


def test_at_most_once_loses_copies(kafkacheck: Callable[[Experiment], Run]) -> None:
    """A copier is killed between its positions and its copies."""
    workload = Copy(guarantee="at-most-once", work=1, batch=500, session_timeout=2, topic_config=SAFE)
    faults = [api.kill_client("roles:copier", at=2.5, lasting=0.5)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=3, expect="invalid"))
    run.assert_invalid("lost-copy")
    assert {finding.anomaly for finding in run.verdict.findings} == {"lost-copy"}
