"""Requests to the cluster by way of brokers that do not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import RequestTimedOutError

from pytest_kafkacheck.cluster.kafka import administration
from pytest_kafkacheck.cluster.kafka.administration import Administration

BROKERS = {node: ("127.0.0.1", 9090 + node) for node in (1, 2, 3)}


def asked(monkeypatch: pytest.MonkeyPatch, is_silent: Callable[[int, int], bool]) -> list[list[int]]:
    """The brokers that each attempt of an election may ask. The library asks the one that is named as the controller,
    here the first.

    is_silent  of a broker and the number of the attempt.
    """
    attempts: list[list[int]] = []

    @contextmanager
    def client(brokers: Mapping[int, Any], **_: Any) -> Iterator[Any]:
        attempts.append([*brokers])
        named = min(brokers)

        def elect_leaders(*_: Any, **__: Any) -> Any:
            if is_silent(named, len(attempts)):
                raise RequestTimedOutError
            return SimpleNamespace(error_code=0, replica_election_results=[])

        yield SimpleNamespace(_controller_id=named, elect_leaders=elect_leaders)

    monkeypatch.setattr(administration, "admin_client", client)
    cluster: Any = SimpleNamespace(brokers=BROKERS)
    membership: Any = None
    Administration(cluster, membership).elect("t", 0, unclean=False)
    return attempts


def test_a_broker_that_forwards_nothing_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, lambda broker, _: broker < 3) == [[1, 2, 3], [2, 3], [3]]


def test_where_all_are_silent_all_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, lambda _, attempt: attempt <= 3) == [[1, 2, 3], [2, 3], [3], [1, 2, 3]]
