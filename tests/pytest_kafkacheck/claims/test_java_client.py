"""A Java client of a claim, by the example of the fake client."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.claims import java_client
from pytest_kafkacheck.claims.exercising import NotExercised
from pytest_kafkacheck.claims.java_client import JavaClient
from tests.support import fake_client
from tests.support.real_cluster import wait_until
from workloads.clients.connection import Address
from workloads.clients.java import program

TOPIC = "orders-2"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def command(_: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(Path(fake_client.__file__)), str(tmp_path)]

    monkeypatch.setattr(java_client, "provide", lambda _: None)
    monkeypatch.setattr(program, "command", command)
    with JavaClient("4.1.1", [Address("files", 1)]) as found:
        yield found


def test_records_are_completed_by_their_numbers(client: JavaClient) -> None:
    client.open_producer(TOPIC, linger_ms=5)
    sent = client.send([((TOPIC, 0), "a"), ((TOPIC, 1), "b"), ((TOPIC, 7), "no such partition")])
    assert client.call("flush", limit=5.0) == ""
    wait_until(lambda: client.are_completed(sent))
    assert client.errors(sent) == ["", "", "REQUEST_TIMED_OUT"]
    assert client.errors([99]) == []


def test_large_values_are_several_requests(client: JavaClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_client, "AT_ONCE", 10)
    client.open_producer(TOPIC)
    sent = client.send(((TOPIC, 0), "." * 6) for _ in range(5))
    wait_until(lambda: client.are_completed(sent))
    assert client.errors(sent) == [""] * 5


def test_an_error_is_an_answer(client: JavaClient) -> None:
    client.open_producer(TOPIC, transactional_id="t")
    assert client.call("flush", limit=1.0) == ""
    assert client.call("no-such-request", limit=1.0) == "INVALID_REQUEST"


def test_a_producer_without_brokers_is_not_exercised(
    client: JavaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_client, "OPEN_LIMIT", 0.1)
    with pytest.raises(NotExercised, match="could not open a producer: REQUEST_TIMED_OUT"):
        client.open_producer(TOPIC, bootstrap_servers="unreachable:1")


def test_a_release_that_is_not_installed_is_not_exercised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_client, "provide", lambda _: None)
    monkeypatch.setattr(program, "command", _missing("run `kafkacheck setup --clients 4.1.0`"))
    with pytest.raises(NotExercised, match=r"kafkacheck setup --clients 4\.1\.0"):
        JavaClient("4.1.0", [])


def _missing(text: str) -> Callable[[str], list[str]]:
    def command(_: str) -> list[str]:
        raise program.NoJavaClient(text)

    return command
