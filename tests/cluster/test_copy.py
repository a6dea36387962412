"""Copying from topic to topic on real brokers: exactly once is exactly once, and the other guarantees are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from kafka import ConsumerGroupMetadata

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.copying import Copy
from workloads.roles import copier
from workloads.roles.context import WorkerContext
from workloads.roles.member import Membership
from workloads.workload import WorkerRole, WorkerSpec

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
    """A schedule names the second topic as well; the fault is proved where the brokers know it."""
    faults = [api.configure({"max.message.bytes": 2_000_000}, "topic:output", at=1, lasting=4)]
    workload = Copy(library=library, topic_config=SAFE)
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=1))
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
        api.kill_client("member:copiers", at=2, lasting=2),
        api.pause_client("role:copier", at=6, lasting=6),
        api.kill("coordinator:copiers", at=14, lasting=4),
        api.kill("transaction-coordinator:copier-0", at=21, lasting=4),
        api.configure(
            {"max.message.bytes": 2_000_000}, "topic:output", after="isr-shrink:output-0", lasting=2
        ),
        api.isolate("leader:output-0", at=28, lasting=5),
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


@pytest.mark.nightly
def test_at_most_once_loses_copies(kafkacheck: Callable[[Experiment], Run]) -> None:
    """A copier is killed between its positions and its copies."""
    workload = Copy(guarantee="at-most-once", work=1, batch=500, session_timeout=2, topic_config=SAFE)
    faults = [api.kill_client("roles:copier", at=2.5, lasting=0.5)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=3, expect="invalid"))
    run.assert_invalid("lost-copy")
    assert {finding.anomaly for finding in run.verdict.findings} == {"lost-copy"}
    assert run.verdict.unknowns == ()


class NamelessMembership(Membership):
    """The positions of a transaction come with the name of the group only, as before KIP-447."""

    @property
    def metadata(self) -> Any:
        return ConsumerGroupMetadata(self._group, -1, "", None)


def copy_unfenced(context: WorkerContext) -> None:
    copier.Membership = NamelessMembership  # type: ignore[misc]  # in this worker process
    copier.copy(context)


@dataclass(frozen=True, kw_only=True)
class UnfencedCopy(Copy):
    def workers(self) -> tuple[WorkerSpec, ...]:
        role = WorkerRole("copier", copy_unfenced)
        return tuple(
            replace(each, role=role) if each.role.name == role.name else each for each in super().workers()
        )


@pytest.mark.nightly
def test_positions_without_a_membership_let_a_zombie_commit(kafkacheck: Callable[[Experiment], Run]) -> None:
    """A copier is paused in its transaction, between the copies and their positions. Its group replaces it. When it
    continues, it commits both, although another copier has copied these records meanwhile."""
    workload = UnfencedCopy(work=1, session_timeout=2, timeout=30, topic_config=SAFE)
    faults = [api.pause_client("role:copier", at=4, lasting=8)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=14, expect="invalid"))
    run.assert_invalid("unfenced-commit", "duplicate-copy")
