"""An idempotent producer of kafka-python that lets a batch expire sends nothing more. It is noticed and replaced."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.errors import IllegalStateError
from kafka.producer.sender import Sender

from tests.support.attempt_patches import attempt_patches
from tests.support.mock_cluster import API_VERSION, MockCluster, mock_cluster
from tests.support.worker_context import rows_on_disk, worker_context
from workloads.clients.kafka_python.producer import STALL
from workloads.clients.protocol import Completion
from workloads.roles.context import WorkerContext
from workloads.roles.sending import Sending

LOG = ("t", 0)
BROKERS = (1, 2, 3)
LIMIT = 30.0

CLIENT = {
    "api_version": API_VERSION,
    "request_timeout_ms": 800,
    "delivery_timeout_ms": 2000,
    "retry_backoff_ms": 20,
    "reconnect_backoff_max_ms": 100,
}


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with attempt_patches(), mock_cluster() as cluster:
        cluster.create("t")
        yield cluster


@pytest.fixture
def context(cluster: MockCluster, tmp_path: Path) -> Iterator[WorkerContext]:
    options = {"acks": "all", "idempotence": True, "record_size": 0, "client": CLIENT}
    one = worker_context(tmp_path, "producer", options, topics={"t": 1}, brokers=cluster.bootstrap)
    yield one
    one.close()


def collected(sending: Sending, count: int) -> list[Completion]:
    """Completions until nothing is open."""
    found: list[Completion] = []
    deadline = time.monotonic() + LIMIT
    while sending.in_flight:
        assert time.monotonic() < deadline, f"{sending.in_flight} sends are open after {LIMIT} s"
        found += sending.collect(0.1)
    assert len(found) == count
    return found


def test_a_wedged_producer_is_replaced_and_what_it_had_is_unknown(
    cluster: MockCluster, context: WorkerContext, tmp_path: Path
) -> None:
    sending = Sending(context, context.records())
    sending.send([LOG])
    (first,) = collected(sending, 1)
    assert first.outcome.type == "ok"

    for broker in BROKERS:
        cluster.delay(broker, 15_000)
    sending.send([LOG])
    (expired,) = collected(sending, 1)
    assert expired.outcome.type == "info"
    assert "KafkaTimeoutError" in (expired.outcome.error or "")
    for broker in BROKERS:
        cluster.delay(broker, 0)

    deadline = time.monotonic() + LIMIT
    while sending.is_connected:
        assert time.monotonic() < deadline, "the wedged producer was not noticed"
        sending.collect(0.1)
    assert context.counts["producers dropped"] == 1

    sending.send([LOG] * 3)
    assert {each.outcome.type for each in collected(sending, 3)} == {"ok"}
    assert context.counts["producers dropped"] == 1
    sending.finish(1)
    context.flush()
    rows = rows_on_disk(tmp_path, "records")
    assert [row["type"] for row in rows if row["type"] != "invoke"] == ["ok", "info", "ok", "ok", "ok"]


def test_a_producer_whose_network_thread_fails_in_each_round_is_replaced(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = Sending(context, context.records())
    sending.send([LOG])
    collected(sending, 1)

    def fail(*_: object) -> None:
        raise IllegalStateError("a batch gets an unexpected final state")

    ended: list[Completion] = []
    with monkeypatch.context() as broken:
        broken.setattr(Sender, "_send_producer_data", fail)
        sending.send([LOG])
        deadline = time.monotonic() + STALL / 2
        while sending.is_connected:
            assert time.monotonic() < deadline, "the wedged producer was not noticed"
            ended += sending.collect(0.1)
    assert context.counts["producers dropped"] == 1
    assert [each.outcome.type for each in ended] == ["fail"], "it never left its buffer"
    sending.send([LOG] * 3)
    assert {each.outcome.type for each in collected(sending, 3)} == {"ok"}
    sending.finish(1)
