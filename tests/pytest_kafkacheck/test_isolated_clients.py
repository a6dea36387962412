"""How client processes are cut from brokers: by the kernel, or by a gate in the process, or not at all."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from nemesis.event import Event
from pytest_kafkacheck import AppendLog, CapabilityError, isolate, isolate_client, kill
from pytest_kafkacheck.experiment.clients import WorkerClients
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.setup import client_cuts
from pytest_kafkacheck.setup.client_cuts import asks_for_cuts, require_client_cuts
from workloads.append_log import READER
from workloads.clients.connection import Address
from workloads.workload import WorkerSpec

BROKERS = {1: Address("a", 9), 2: Address("b", 10)}

BOTH = ("in", "out")


class FakeCuts:
    """A kernel that drops one packet at each look."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[list[tuple[str, int]], Collection[str]]] = {}

    def cut(self, owner: str, brokers: list[tuple[str, int]], ways: Collection[str]) -> None:
        self.held[owner] = brokers, ways

    def dropped(self, owner: str) -> dict[str, int] | None:
        return dict.fromkeys(self.held[owner][1], 1) if owner in self.held else None

    def restore(self, owner: str) -> None:
        self.held.pop(owner, None)


class FakeWorker:
    def __init__(self, library: str = "kafka-python", cuts: FakeCuts | None = None) -> None:
        self.spec = WorkerSpec(role=READER, process=0, library=library)
        self.counts: dict[str, int] = {}
        self.orders: list[str] = []
        self.cuts, self.no_cuts = cuts, "not root"

    def isolate(self) -> None:
        self.orders.append("isolate")
        self.counts |= {"isolated": 1, "blocked": 3}

    def connect(self) -> None:
        self.orders.append("connect")
        self.counts |= {"isolated": 0}


def clients(worker: FakeWorker) -> WorkerClients:
    pool: Any = SimpleNamespace(workers={0: worker})
    return WorkerClients(pool, lambda: BROKERS)


@pytest.mark.parametrize("library", ["kafka-python", "confluent-kafka", "command:client"])
@pytest.mark.parametrize(
    ("brokers", "addresses"), [(None, [("a", 9), ("b", 10)]), ([2], [("b", 10)]), ((), [])]
)
@pytest.mark.parametrize("ways", [BOTH, ("out",)])
def test_the_kernel_cuts_clients_of_all_libraries(
    library: str, brokers: Collection[int] | None, addresses: list[tuple[str, int]], ways: Any
) -> None:
    worker = FakeWorker(library, FakeCuts())
    made = clients(worker)
    made.cut(0, "e", brokers=brokers, ways=ways)
    assert worker.cuts is not None
    assert worker.cuts.held == {"e": (addresses, ways)}
    assert made.dropped(0, "e") == dict.fromkeys(ways, 1)
    assert made.dropped(0, "other") is None
    made.restore(0, "e")
    assert made.dropped(0, "e") is None
    assert worker.orders == []


def test_a_client_waits_in_its_process_where_the_kernel_cannot_cut_it() -> None:
    worker = FakeWorker()
    made = clients(worker)
    assert made.dropped(0, "e") is None
    made.cut(0, "e", brokers=None, ways=BOTH)
    assert made.dropped(0, "e") == {"tried": 3}
    made.restore(0, "e")
    assert made.dropped(0, "e") is None
    assert worker.orders == ["isolate", "connect"]


@pytest.mark.parametrize(("brokers", "ways"), [([1], BOTH), (None, ("in",))])
def test_a_part_of_its_packets_is_not_cut_in_the_process(brokers: list[int] | None, ways: Any) -> None:
    worker = FakeWorker()
    with pytest.raises(ValueError, match="packets of client process 0 cannot be cut: not root"):
        clients(worker).cut(0, "e", brokers=brokers, ways=ways)
    assert worker.orders == []


def test_a_client_of_confluent_kafka_is_refused_by_name() -> None:
    worker = FakeWorker("confluent-kafka")
    with pytest.raises(
        ValueError, match=r"process 0 uses confluent-kafka.*works with kafka-python only.*not root"
    ):
        clients(worker).cut(0, "e", brokers=None, ways=BOTH)
    assert (worker.orders, clients(worker).dropped(0, "e")) == ([], None)


def test_a_broker_without_an_address_is_named() -> None:
    with pytest.raises(LookupError, match=r"broker 4 is unknown; known: \[1, 2\]"):
        clients(FakeWorker(cuts=FakeCuts())).cut(0, "e", brokers=[2, 4], ways=BOTH)


@pytest.mark.parametrize(
    ("event", "library", "refused"),
    [
        (kill("leader", at=1, lasting=1), "confluent-kafka", None),
        (isolate_client("client:0", at=1, lasting=1), "kafka-python", None),
        (
            isolate_client("client:0", at=1, lasting=1),
            "confluent-kafka",
            "isolate-client of clients of confluent-kafka",
        ),
        (
            isolate("producer", at=1, lasting=1),
            "command:client",
            "isolate-client of clients of command:client",
        ),
        (
            isolate_client("client:0", at=1, lasting=1, brokers=2, one_way="in"),
            "kafka-python",
            "isolate-client with brokers='2', one_way='in': it needs control groups of version 2",
        ),
    ],
)
def test_a_host_whose_kernel_cannot_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, event: Event, library: str, refused: str | None
) -> None:
    monkeypatch.setattr(client_cuts, "why_not", lambda _: None)
    require_client_cuts([event], [library])
    monkeypatch.setattr(client_cuts, "why_not", lambda _: "Operation not permitted")
    if refused is None:
        require_client_cuts([event], [library])
        return
    with pytest.raises(CapabilityError, match=refused) as error:
        require_client_cuts([event], [library])
    assert "Operation not permitted. Without options, and with clients of kafka-python" in str(error.value)


def test_client_processes_get_control_groups_only_where_a_fault_asks_for_them() -> None:
    assert not asks_for_cuts(
        Experiment(workload=AppendLog(), faults=[kill("leader", at=1, lasting=1)]).schedule.events
    )
    event = isolate_client("producer", at=1, lasting=1, brokers="leader")
    assert asks_for_cuts(Experiment(workload=AppendLog(), faults=[event]).schedule.events)
