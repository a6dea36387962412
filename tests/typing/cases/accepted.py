"""What a user writes with types: mypy --strict accepts all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from pytest_kafkacheck import (
    PROBE,
    AppendLog,
    Bounds,
    Budget,
    Cell,
    CellResult,
    ClusterSpec,
    ConfigMatrix,
    DockerCluster,
    Experiment,
    Finding,
    Generated,
    Kafkacheck,
    Pipeline,
    Recording,
    Run,
    Sending,
    Topic,
    Transactions,
    VerdictError,
    WorkerContext,
    WorkerRole,
    WorkerSpec,
    Workload,
    isolate,
    kill,
    partition,
    scenarios,
)

MATRIX = ConfigMatrix(acks=["all", 1], topic_config={"min.insync.replicas": [1, 2]}) * scenarios(
    "leader-isolated"
)


def experiment() -> Experiment:
    return Experiment(
        workload=AppendLog(partitions=3, acks=1, topic_config={"min.insync.replicas": 2}),
        faults=[isolate("leader", at=3, lasting=8), kill("one", at=12, lasting=2)],
        cluster=ClusterSpec(brokers=5),
        bounds=Bounds(unavailable=15, recovery=10),
        cooldown=5,
    )


def test_verdict(kafkacheck: Kafkacheck) -> None:
    run: Run = kafkacheck(experiment())
    run.assert_valid(unknown=True)
    findings: tuple[Finding, ...] = run.verdict.findings
    names: list[str] = [each.anomaly for each in findings]
    lost: int = sum(each.count for each in findings if each.anomaly == "lost-write")
    assert run.result == "valid", (names, lost)


def test_generated(kafkacheck: Kafkacheck) -> None:
    budget = Budget(brokers=1, controllers="minority", events=2)
    faults = Generated(seed=7, length=60, events=10, budget=budget)
    with pytest.raises(VerdictError):
        kafkacheck(Experiment(workload=Transactions(), faults=faults)).assert_invalid("lost-write")


@MATRIX.parametrize
def test_cell(kafkacheck: Kafkacheck, cell: Cell) -> None:
    result: CellResult = kafkacheck(cell)
    result.assert_as_predicted()


def test_own_clients(kafkacheck_cluster: DockerCluster, kafkacheck_recorder: Recording) -> None:
    bootstrap: list[str] = list(kafkacheck_cluster.bootstrap)
    with kafkacheck_cluster.fault(partition("leader:orders-0", lasting=3)) as fault:
        nodes: Iterable[int] = fault.nodes
        assert nodes, bootstrap
    kafkacheck_recorder.judge().assert_valid()


def echo(context: WorkerContext) -> None:
    sending = Sending(context, context.records())
    if sending.connect():
        context.ready()
    while not context.stop.wait(0.01):
        sending.send(context.logs)
        outcomes: list[str] = [each.outcome.type for each in sending.collect(10)]
        assert outcomes
    sending.finish(10)


@dataclass(frozen=True)
class Echo(Workload):
    clients: int = 1

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (Topic(name=f"echo-{run}", partitions=1, replication_factor=3),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        roles = (WorkerSpec(role=WorkerRole("echo", echo), process=number) for number in range(self.clients))
        return (*roles, WorkerSpec(role=PROBE, process=self.clients))


pipeline = Pipeline(
    source="orders", sink="invoices", command=["copier", "{bootstrap}", "{source}", "{sink}", "{group}"]
)
