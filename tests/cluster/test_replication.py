"""What brokers report of replicas, leaders and controllers, on real clusters: safe runs break no invariant, and where
Kafka can lose what was replicated, the samples show it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from analyzers.catalogue.registry import CATALOGUE
from nemesis.event import Event
from nemesis.faults.wipe import Wipe
from nemesis.registry import FAULTS
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(300)]

INVARIANTS = {each.name for each in CATALOGUE if each.family == "replication"}

OF_SAMPLES = {"samples-of-every-broker", "samples-of-leaders", "samples-of-controllers"}


@dataclass(frozen=True, kw_only=True)
class Forget(Wipe):
    """As `wipe`, under a name of which nobody knows that it destroys records."""

    name = "forget"


def broken(run: Run) -> dict[str, int]:
    return {each.anomaly: each.count for each in run.verdict.findings if each.anomaly in INVARIANTS}


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [api.isolate("leader", at=2, lasting=5), api.kill("controller", at=12, lasting=3)],
        [api.pause("leader", at=2, lasting=5), api.restart("leader", at=12)],
    ],
    ids=["healthy", "isolate, kill", "pause, restart"],
)
def test_safe_runs_break_no_invariant(kafkacheck: Callable[[Experiment], Run], faults: list[Event]) -> None:
    workload = AppendLog(partitions=2, rate=200, topic_config={"min.insync.replicas": 2})
    run = kafkacheck(
        Experiment(workload=workload, faults=faults, duration=5, cooldown=8, requires=OF_SAMPLES)
    )
    run.assert_valid()
    assert broken(run) == {}
    assert run.verdict.exercised.leader_samples > 50
    assert run.verdict.exercised.controller_samples > 20
    if faults:
        assert run.verdict.propagation is not None
        assert run.verdict.propagation.open == 0
        assert 0 < (run.verdict.propagation.longest or 0) < 30


@pytest.mark.parametrize("version", ["3.9.2", "2.8.2"])
def test_elections_of_controllers_in_zookeeper_mode_break_no_invariant(
    kafkacheck: Callable[[Experiment], Run], version: str
) -> None:
    """Meanwhile ZooKeeper is paused for less time than the sessions of the brokers last."""
    workload = AppendLog(partitions=2, rate=200, topic_config={"min.insync.replicas": 2})
    faults = [
        api.delete_controller(at=2), api.pause(201, at=5, lasting=2), api.kill("controller", at=11, lasting=3),
    ]  # fmt: skip
    spec = api.ClusterSpec(version=version, zookeepers=1)
    run = kafkacheck(
        Experiment(cluster=spec, workload=workload, faults=faults, cooldown=8, requires=OF_SAMPLES)
    )
    run.assert_valid()
    assert broken(run) == {}
    assert run.verdict.exercised.controller_samples > 50
    samples = pq.read_table(run.path / "history" / "observations").to_pylist()
    assert len({each["leader_epoch"] for each in samples if each["kind"] == "controller"}) > 2
    silent = [json.loads(each["value"])["probe"] for each in samples if each["kind"] == "unanswered"]
    assert "controller" in silent


@pytest.mark.parametrize("version", ["4.1.1", "4.4.0"])
def test_an_eligible_replica_leads_after_an_empty_isr(
    kafkacheck: Callable[[Experiment], Run], version: str
) -> None:
    """Broker 4 has no replica, and answers while all others are down. Broker 2 is stopped in order, and is eligible
    when it returns; 1 is killed, and returns later."""
    workload = AppendLog(
        partitions=1, rate=200, topic_config={"min.insync.replicas": 2}, assignment={0: [1, 2, 3]}
    )
    faults = [
        api.stop(3, at=2, lasting=24), api.stop(2, at=5, lasting=16), api.kill(1, at=8, lasting=20),
    ]  # fmt: skip
    run = kafkacheck(
        Experiment(
            cluster=api.ClusterSpec(version=version, brokers=4, controllers=1), workload=workload, faults=faults,
            cooldown=8, requires=OF_SAMPLES | {"samples-of-eligible-replicas"},
        )
    )  # fmt: skip
    run.assert_valid()
    assert broken(run) == {}
    samples = pq.read_table(run.path / "history" / "observations").to_pylist()
    named = [each for each in samples if each["kind"] == "eligible"]
    empty = [each for each in named if not each["isr"]]
    assert {each["leader"] for each in empty} == {-1}
    (epoch,) = {each["leader_epoch"] for each in empty}
    assert json.loads(empty[0]["value"]) == {"eligible": [1, 2], "last_known": [1]}
    assert {each["leader"] for each in named if each["leader_epoch"] == epoch + 1} == {2}


def test_an_unclean_election_cuts_what_was_replicated(kafkacheck: Callable[[Experiment], Run]) -> None:
    """Broker 1 is alone in the ISR when it dies, and broker 2 goes on without its last records. Nothing is sent then,
    so that new records do not hide it before the first sample."""
    workload = AppendLog(
        partitions=1,
        rate=200,
        replication_factor=2,
        topic_config={"min.insync.replicas": 1, "unclean.leader.election.enable": True},
        assignment={0: [1, 2]},
    )
    faults = [
        api.partition([[1], [2]], plane="replication", at=3, lasting=12),
        api.isolate_client("roles:producer", after="isr-shrink", at=2.5, lasting=12),
        api.kill(1, after="isr-shrink", at=3, lasting=10),
    ]
    run = kafkacheck(Experiment(workload=workload, faults=faults, expect="invalid"))
    run.assert_invalid("lost-write")
    assert broken(run) == {"unclean-truncation": 1}
    (finding,) = (each for each in run.verdict.findings if each.anomaly == "unclean-truncation")
    (example,) = finding.examples
    assert (example["node"], example["isr"]) == (2, [1])
    assert example["offset"] < example["watermark"]


def test_a_disk_that_forgets_what_was_replicated(
    kafkacheck: Callable[[Experiment], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only replica returns without its records, by a clean election: it was the ISR. Kafka 3.9 has no eligible
    leader replicas (KIP-966), which would empty the ISR first. Nothing is sent around its return."""
    workload = AppendLog(
        partitions=1,
        rate=200,
        replication_factor=1,
        topic_config={"min.insync.replicas": 1},
        assignment={0: [2]},
    )
    monkeypatch.setitem(FAULTS, Forget.name, Forget)
    faults = [
        api.isolate_client("roles:producer", at=4, lasting=15),
        Event.of(Forget(), 2, at=5, after=None, lasting=1),
    ]
    spec = api.ClusterSpec(version="3.9.2")
    run = kafkacheck(Experiment(cluster=spec, workload=workload, faults=faults, cooldown=4, expect="invalid"))
    run.assert_invalid("leader-below-watermark", "lost-write")
    assert broken(run) == {"leader-below-watermark": 1}
    (finding,) = (each for each in run.verdict.findings if each.anomaly == "leader-below-watermark")
    (example,) = finding.examples
    assert (example["node"], example["isr"]) == (2, [2])
    assert example["offset"] < example["watermark"]
