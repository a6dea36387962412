"""Faults of an application's packets, processor and memory: what an experiment asks of this host and of workers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nemesis.event import Event
from pytest_kafkacheck import CapabilityError, cpu, isolate, kill, memory
from pytest_kafkacheck.experiment.clients import WorkerClients
from pytest_kafkacheck.experiment.execution import confining
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.setup import capabilities
from workloads.pipeline import APP, Pipeline
from workloads.workload import WorkerSpec

WORKLOAD = Pipeline(command=["copier", "{bootstrap}", "{source}", "{sink}"])


@pytest.mark.parametrize(
    ("faults", "confined"),
    [
        ([kill("app", at=1, lasting=1), isolate("leader", at=3, lasting=1)], set()),
        ([isolate("app:0", at=1, lasting=1)], {"packets"}),
        ([cpu("app", at=1, lasting=1), memory("app", at=3, lasting=1)], {"cpu", "memory"}),
    ],
)
def test_an_application_is_confined_as_its_faults_need_it(faults: list[Event], confined: set[str]) -> None:
    assert confining(Experiment(workload=WORKLOAD, faults=faults)) == confined


def test_a_host_that_cannot_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks this host, and no engine."""
    monkeypatch.setattr(capabilities, "why_not", lambda each: f"no {each} here" if each != "cpu" else None)
    capabilities.require_capabilities(None, ["cpu-app", "kill"])
    with pytest.raises(CapabilityError) as refused:
        capabilities.require_capabilities(None, ["isolate-app", "cpu-app", "memory-app"])
    assert "isolate-app: it needs control groups of version 2" in str(refused.value)
    assert "no packets here; memory-app: it needs" in str(refused.value)
    assert "cpu-app" not in str(refused.value)


class FakeWorker:
    def __init__(self) -> None:
        self.spec = WorkerSpec(role=APP, process=1, instance=0)
        self.counts: dict[str, int] = {}
        self.orders: list[tuple[Any, ...]] = []

    def isolate(self) -> None:
        self.orders.append(("isolate",))

    def limit(self, what: str, value: float | None) -> None:
        self.orders.append((what, value))


def test_limits_go_to_the_worker_and_come_back_from_its_counts() -> None:
    worker = FakeWorker()
    pool: Any = SimpleNamespace(workers={1: worker})
    clients = WorkerClients(pool)
    assert (clients.cpu_limit(1), clients.throttled(1)) == (None, 0)
    assert (clients.memory(1), clients.memory_reached(1)) == ((0, None), 0)
    clients.isolate(1)
    clients.limit_cpu(1, 0.25)
    clients.limit_cpu(1, None)
    clients.limit_memory(1, 4096)
    clients.limit_memory(1, None)
    assert worker.orders == [("isolate",), ("cpu", 0.25), ("cpu", None), ("memory", 4096), ("memory", None)]
    worker.counts = {
        "cpu_limit": 250,
        "throttled": 3,
        "memory_used": 7,
        "memory_limit": 9,
        "memory_reached": 2,
    }
    assert (clients.cpu_limit(1), clients.throttled(1)) == (0.25, 3)
    assert (clients.memory(1), clients.memory_reached(1)) == ((7, 9), 2)
    worker.counts |= {"cpu_limit": -1, "memory_limit": -1}
    assert (clients.cpu_limit(1), clients.memory(1)) == (None, (7, None))
    with pytest.raises(LookupError, match="client process 2 is gone"):
        clients.limit_cpu(2, 1)
