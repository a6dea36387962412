"""Keys and tombstones come back as they were sent. On real brokers: `tests/cluster/test_compacted.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.support.mock_cluster import MockCluster, mock_cluster
from workloads.clients.kafka_python.consumer import to_batches
from workloads.clients.library import library
from workloads.clients.protocol import Polled, PolledRecords
from workloads.keys import HEADER, Keyed, from_wire, to_wire

LOG = ("t", 0)
RECORDS = [
    None,
    Keyed(7),
    Keyed(-1),
    Keyed((1 << 63) - 1, tombstone=True),
]


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("t", partitions=1)
        yield cluster


def test_parts_of_a_record() -> None:
    assert to_wire(b"x", None) == (None, b"x", [])
    assert to_wire(b"x", Keyed(258)) == (b"\0\0\0\0\0\0\1\2", b"x", [])
    assert to_wire(b"x", Keyed(1, tombstone=True)) == (b"\0\0\0\0\0\0\0\1", None, [(HEADER, b"x")])


@pytest.mark.parametrize("keyed", RECORDS)
def test_payload_and_key_come_back(keyed: Keyed | None) -> None:
    assert from_wire(*to_wire(b"x", keyed)) == (b"x", keyed)


def test_records_of_others() -> None:
    """Whatever they have as a key; without our header, a tombstone has no payload."""
    assert from_wire(b"name", b"x", None) == (b"x", None)
    assert from_wire(b"\0" * 8, None, [("other", b"x")]) == (None, Keyed(0, tombstone=True))
    assert from_wire(b"\0" * 8, None, None) == (None, Keyed(0, tombstone=True))
    assert from_wire(None, None, None) == (None, None)


def polled(*records: SimpleNamespace) -> list[Polled]:
    return [*PolledRecords(to_batches(LOG, records, None))]


def test_records_of_kafka_python() -> None:
    record = SimpleNamespace(offset=3, leader_epoch=1, key=None, value=b"x", headers=[], timestamp=7)
    assert polled(record) == [Polled(LOG, 3, 1, b"x", timestamp=7)]
    key, value, headers = to_wire(b"x", Keyed(4, tombstone=True))
    deleted = SimpleNamespace(offset=3, leader_epoch=1, key=key, value=value, headers=headers, timestamp=7)
    assert polled(record, deleted) == [
        Polled(LOG, 3, 1, b"x", timestamp=7),
        Polled(LOG, 3, 1, b"x", keyed=Keyed(4, tombstone=True), timestamp=7),
    ]
    later = SimpleNamespace(**{**vars(record), "offset": 4, "leader_epoch": 2})
    assert [batch.leader_epoch for batch in to_batches(LOG, [record, later], None)] == [1, 2]


def test_a_message_of_confluent_kafka(cluster: MockCluster) -> None:
    confluent = library("confluent-kafka")
    producer = confluent.producer(
        bootstrap=cluster.bootstrap, topics=("t",), acks="all", idempotence=True, settings={}
    )
    for op, keyed in enumerate(RECORDS):
        producer.send(op, LOG, str(op).encode(), keyed)
    polled: list[Polled] = []
    consumer = confluent.consumer(bootstrap=cluster.bootstrap, start={LOG: 0})
    deadline = time.monotonic() + 20
    while len(polled) < len(RECORDS) and time.monotonic() < deadline:
        producer.take(0.1)
        polled += consumer.poll(0.1)
    consumer.close()
    producer.close(1)
    assert [(int(each.payload or b""), each.keyed) for each in polled] == [*enumerate(RECORDS)]
