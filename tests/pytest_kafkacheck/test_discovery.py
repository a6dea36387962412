"""Attach waits for a broker that answers before it has registered itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import discovery
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address

CONTAINER = {
    "Id": "a",
    "NetworkSettings": {"Ports": {"9092/tcp": [{"HostPort": "19092"}]}, "Networks": {}},
    "Config": {"Image": "kafka"},
}


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Decides which brokers the broker at the published port lists, one answer after the other."""

    def answers(each: Iterable[dict[int, Address]]) -> None:
        rest = iter(each)
        monkeypatch.setattr(discovery, "_brokers", lambda _: next(rest))

    monkeypatch.setattr(discovery, "_containers", lambda *_: [CONTAINER])
    monkeypatch.setattr(discovery, "reach", lambda _: ("127.0.0.1", "0.0.0.0"))
    monkeypatch.setattr(discovery, "_settings", lambda *_: {})
    monkeypatch.setattr(discovery, "_doubt", lambda *_: None)
    return answers


def test_a_broker_that_lists_no_broker_yet_is_asked_again(listed: Any) -> None:
    listed([{}, {}, {1: Address("127.0.0.1", 19092)}])
    assert list(discovery.discover(None, "shop", limit=30).brokers) == [1]


def test_a_broker_that_never_registers_is_named_when_the_time_is_up(listed: Any) -> None:
    listed(iter(dict, None))
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:19092: it knows no broker yet"):
        discovery.discover(None, "shop", limit=0)
