"""The probe writes down what brokers tell, and what they do not tell as unknown."""

from __future__ import annotations

import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from workloads.clients import requests
from workloads.clients.protocol import Log
from workloads.clients.requests import Leadership, Watermarks
from workloads.history.schema import OBSERVATIONS
from workloads.roles.probe import Broker

LOG, OTHER = ("t", 0), ("t", 1)


def answer(**partitions: dict[str, int]) -> Any:
    told = {"error_code": 0, "high_watermark": 9, "log_start_offset": 2, "last_stable_offset": 7}
    some = [
        SimpleNamespace(partition_index=int(name[1:]), **(told | wrong)) for name, wrong in partitions.items()
    ]
    return SimpleNamespace(responses=[SimpleNamespace(topic="t", partitions=some)])


def test_the_last_stable_offset_is_asked_for_as_a_committed_reader_does() -> None:
    asked: list[Any] = []

    def ask(request: Any) -> Any:
        asked.append(request)
        return answer(p0={}, p1={"last_stable_offset": -1}, p2={"error_code": 6})

    told = requests.watermarks(ask, {LOG: 8, OTHER: 8, ("t", 2): 8})
    assert asked[0].isolation_level == 1
    assert told == {
        LOG: Watermarks(high_watermark=9, log_start=2, last_stable=7),
        OTHER: Watermarks(high_watermark=9, log_start=2, last_stable=None),
    }


def test_kafka_python_has_the_field_that_is_read() -> None:
    from kafka.protocol.consumer import FetchResponse

    part = FetchResponse.FetchableTopicResponse.PartitionData(
        partition_index=0, error_code=0, high_watermark=9, last_stable_offset=7, log_start_offset=2,
        preferred_read_replica=-1, aborted_transactions=None, records=None,
    )  # fmt: skip
    topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[part])
    wire = FetchResponse(
        version=11, throttle_time_ms=0, error_code=0, session_id=0, responses=[topic]
    ).encode()
    again = FetchResponse.decode(wire, version=11)
    assert requests.watermarks(lambda _: again, {LOG: 8}) == {LOG: Watermarks(9, 2, 7)}


def test_an_observation_holds_what_its_broker_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a log that it refuses, only what the metadata say."""
    view = Leadership(1, 5, (1, 2))
    ends: dict[Log, tuple[int, int]] = {LOG: (0, 12), OTHER: (6, -1)}
    monkeypatch.setattr(requests, "metadata", lambda *_: {LOG: view, OTHER: view})
    monkeypatch.setattr(requests, "watermarks", lambda *_: {LOG: Watermarks(9, 2, 7)})
    monkeypatch.setattr(requests, "offsets", lambda *_, **__: ends)
    monkeypatch.setattr("workloads.roles.probe.Connection", lambda *_, **__: SimpleNamespace(ask=None))
    rows: list[dict[str, Any]] = []
    job: Any = SimpleNamespace(
        run="r", process=50, topics=["t"], logs=[LOG, OTHER], counts=Counter(), stop=threading.Event()
    )
    writer: Any = SimpleNamespace(append=lambda **columns: rows.append(columns))
    Broker(job, writer, 1, None).sample()
    first, second = rows
    assert first.keys() == second.keys() == set(OBSERVATIONS.names)
    told = ("log_start", "high_watermark", "log_end", "last_stable")
    assert [first[name] for name in told] == [2, 9, 12, 7]
    assert [second[name] for name in told] == [None] * 4
    assert first["asked"] <= first["time"]
