"""A client whose library does not wait at the network gate cannot be isolated, and no fault claims that it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.experiment.clients import WorkerClients
from workloads.append_log import READER
from workloads.workload import WorkerSpec


class FakeWorker:
    def __init__(self, library: str) -> None:
        self.spec = WorkerSpec(role=READER, process=0, library=library)
        self.counts: dict[str, int] = {}
        self.orders: list[str] = []

    def isolate(self) -> None:
        self.orders.append("isolate")


def clients(worker: FakeWorker) -> WorkerClients:
    pool: Any = SimpleNamespace(workers={0: worker})
    return WorkerClients(pool)


def test_a_client_of_kafka_python_is_isolated() -> None:
    worker = FakeWorker("kafka-python")
    clients(worker).isolate(0)
    assert worker.orders == ["isolate"]


def test_a_client_of_confluent_kafka_is_refused_by_name() -> None:
    worker = FakeWorker("confluent-kafka")
    with pytest.raises(ValueError, match=r"process 0 uses confluent-kafka.*works with kafka-python"):
        clients(worker).isolate(0)
    assert (worker.orders, clients(worker).isolated(0)) == ([], None)
