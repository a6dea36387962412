"""Brokers that would let clients read from leaders only are refused before the load."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.cluster.kafka import served_cluster as module
from pytest_kafkacheck.cluster.kafka.served_cluster import check_follower_reads
from pytest_kafkacheck.cluster.spec.settings import RACK_AWARE, SELECTOR
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address

BROKERS = {1: Address("b1", 1), 2: Address("b2", 2)}


def answer(
    monkeypatch: pytest.MonkeyPatch,
    racks: dict[int, str | None],
    selectors: dict[int, str | None],
    error: int = 0,
) -> None:
    """Every broker answers with these racks, and with its own setting; one without a setting does not answer."""

    def ask(address: Address, request: Any, *, timeout: float) -> Any:
        assert timeout > 0
        if type(request).__name__ == "MetadataRequest":
            known = [SimpleNamespace(node_id=node, rack=rack) for node, rack in racks.items()]
            return SimpleNamespace(brokers=known)
        (resource,) = request.resources
        node = int(resource.resource_name)
        assert address == BROKERS[node]
        if node not in selectors:
            raise TimeoutError(f"{address} is silent")
        configs = [SimpleNamespace(name=SELECTOR, value=selectors[node])]
        result = SimpleNamespace(error_code=error, error_message="not allowed", configs=configs)
        return SimpleNamespace(results=[result])

    monkeypatch.setattr(module, "ask", ask)


def test_racks_and_a_selector_on_every_broker_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {1: "a", 2: "b"}, {1: RACK_AWARE, 2: "com.example.Selector"})
    check_follower_reads(BROKERS)


@pytest.mark.parametrize(
    ("racks", "selectors", "said"),
    [
        ({1: None, 2: None}, {1: RACK_AWARE, 2: RACK_AWARE}, "these racks: 1: none, 2: none; set broker.rack"),
        ({1: "a", 2: "a"}, {1: RACK_AWARE, 2: RACK_AWARE}, "these racks: 1: a, 2: a"),
        ({1: "a", 2: "b"}, {1: RACK_AWARE, 2: ""}, f"{SELECTOR} is not set on brokers 2, so clients"),
        ({1: "a", 2: "b"}, {1: None, 2: None}, f"{SELECTOR} is not set on brokers 1, 2"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, racks: dict[int, str | None], selectors: dict[int, str | None], said: str
) -> None:
    answer(monkeypatch, racks, selectors)
    with pytest.raises(UsageError) as refused:
        check_follower_reads(BROKERS)
    assert said in str(refused.value)


def test_without_an_answer_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {1: "a", 2: "b"}, {1: RACK_AWARE})
    with pytest.raises(InfrastructureError, match="could not be read: b2:2 is silent"):
        check_follower_reads(BROKERS)
    answer(monkeypatch, {1: "a", 2: "b"}, {1: RACK_AWARE, 2: RACK_AWARE}, error=29)
    with pytest.raises(InfrastructureError, match="broker 1 did not describe its settings: not allowed"):
        check_follower_reads(BROKERS)
