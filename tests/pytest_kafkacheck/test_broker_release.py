"""Brokers that somebody else runs are asked for their release, and refused where it is too old."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.cluster.kafka import served_cluster as module
from pytest_kafkacheck.cluster.kafka.served_cluster import UNKNOWN, broker_release, check_release
from pytest_kafkacheck.cluster.spec.release import METADATA, RELEASES
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address

BROKERS = {1: Address("b1", 1), 2: Address("b2", 2)}


def answer(monkeypatch: pytest.MonkeyPatch, levels: dict[str, int | None]) -> None:
    """Each broker reports that metadata.version at most; None: no feature at all. Others do not answer."""

    def ask(address: Address, request: Any, *, timeout: float) -> Any:
        assert (type(request).__name__, request.version, timeout > 0) == ("ApiVersionsRequest", 3, True)
        if address.host not in levels:
            raise TimeoutError(f"{address} is silent")
        level = levels[address.host]
        features = None if level is None else [
            SimpleNamespace(name="group.version", max_version=99),
            SimpleNamespace(name=METADATA, max_version=level),
        ]  # fmt: skip
        return SimpleNamespace(supported_features=features)

    monkeypatch.setattr(module, "ask", ask)


@pytest.mark.parametrize("line", [line for line, release in RELEASES.items() if METADATA in release.features])
def test_the_newest_metadata_version_tells_the_release(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    release = RELEASES[line]
    answer(monkeypatch, {"b1": release.features[METADATA][1]})
    assert broker_release(BROKERS[1]) == release.number


@pytest.mark.parametrize(("level", "number"), [(None, UNKNOWN), (21, (3, 9)), (22, (4, 0)), (99, (4, 4))])
def test_other_levels(monkeypatch: pytest.MonkeyPatch, level: int | None, number: tuple[int, int]) -> None:
    answer(monkeypatch, {"b1": level})
    assert broker_release(BROKERS[1]) == number


def test_a_single_older_broker_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {"b1": 25, "b2": 22})
    check_release(BROKERS, (4, 0), what="Admin")
    for old, text in ((21, "1: 4.0, 2: 3.9"), (None, "1: 4.0, 2: before 4.0")):
        answer(monkeypatch, {"b1": 25, "b2": old})
        said = f"Admin needs Kafka 4.0 or later for what it asks for, and the brokers have these releases: {text}; "
        with pytest.raises(UsageError, match=re.escape(said)):
            check_release(BROKERS, (4, 0), what="Admin")


def test_brokers_are_not_asked_for_a_workload_that_needs_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {})
    check_release(BROKERS, (0, 0), what="AppendLog")
    with pytest.raises(
        InfrastructureError, match=r"releases could not be read: TimeoutError.*b1:1 is silent"
    ):
        check_release(BROKERS, (4, 0), what="Admin")
