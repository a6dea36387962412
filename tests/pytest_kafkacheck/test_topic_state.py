"""The state of a topic as the rows of its creation and deletion hold it, also on brokers of old releases."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from pytest_kafkacheck.cluster.kafka import topics as module
from pytest_kafkacheck.cluster.kafka.topics import TopicChange, TopicState, reported, topic_state
from workloads.clients.connection import Address

BROKERS = {1: Address("127.0.0.1", 1), 2: Address("127.0.0.1", 2)}
ID = UUID(int=7)

Answer = Callable[[Address, Any], Any]


def answer(address: Address, request: Any, *, newest: int = 12, topic_id: UUID = ID) -> Any:
    """As a broker that knows one topic, and versions of Metadata up to `newest`."""
    if type(request).__name__ == "DescribeConfigsRequest":
        configs = [
            SimpleNamespace(name="retention.ms", value="100"),
            SimpleNamespace(name="secret", value=None),
        ]
        return SimpleNamespace(results=[SimpleNamespace(error_code=0, configs=configs)])
    version = request.API_VERSION
    if version > newest:
        raise ConnectionResetError(f"{address} closed the connection")
    with_id = {"topic_id": topic_id} if version >= 10 else {}
    partitions = [SimpleNamespace(replica_nodes=[1, 2])] * 3
    return SimpleNamespace(topics=[SimpleNamespace(error_code=0, partitions=partitions, **with_id)])


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], None]:
    """Let every broker answer with a function."""
    return lambda function: monkeypatch.setattr(
        module, "ask", lambda address, request, **_: function(address, request)
    )


def test_a_topic_is_described_with_its_id_and_its_effective_settings(broker: Any) -> None:
    broker(answer)
    assert topic_state(BROKERS, "t") == TopicState(
        id=str(ID), partitions=3, replication_factor=2, config={"retention.ms": "100"}
    )


@pytest.mark.parametrize("old", [{"newest": 9}, {"topic_id": UUID(int=0)}], ids=["release", "protocol"])
def test_a_release_without_topic_ids_has_none(broker: Any, old: dict[str, Any]) -> None:
    broker(lambda address, request: answer(address, request, **old))
    assert (topic_state(BROKERS, "t").id, topic_state(BROKERS, "t").partitions) == (None, 3)


def test_brokers_that_do_not_answer_are_passed_over(broker: Any) -> None:
    def second_only(address: Address, request: Any) -> Any:
        if address.port == 1:
            raise ConnectionRefusedError(str(address))
        return answer(address, request)

    broker(second_only)
    assert topic_state(BROKERS, "t").partitions == 3

    def silent(address: Address, _: Any) -> Any:
        raise TimeoutError(str(address))

    broker(silent)
    assert topic_state(BROKERS, "t") == TopicState()


def test_a_change_lasts_from_its_request_to_its_answer_and_a_failed_one_is_not_reported(broker: Any) -> None:
    broker(answer)
    changes: list[TopicChange] = []
    with reported(BROKERS, "t", "created", changes.append):
        pass
    with pytest.raises(OSError, match="refused"), reported(BROKERS, "t", "deleted", changes.append):
        raise OSError("refused")
    (change,) = changes
    row = change.row()
    assert (row["f"], row["type"], row["topic"]) == ("topic", "ok", "t")
    assert row["value"] == {
        "event": "created",
        "id": str(ID),
        "partitions": 3,
        "replication_factor": 2,
        "config": {"retention.ms": "100"},
    }
    assert row["invoked"] <= row["completed"]
