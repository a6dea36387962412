"""A member of a group with confluent-kafka: what it has, what it commits, and what its settings mean."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest

from tests.support.mock_cluster import MockCluster, mock_cluster
from workloads.clients.confluent import member as members
from workloads.clients.confluent.member import ConfluentMember, configuration, generation_of
from workloads.clients.protocol import Ending, MemberEvent, Polled

LOG = ("t", 0)
FAST = {"session_timeout": 6, "heartbeat_interval": 0.5, "max_poll_interval": 10}


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("t", partitions=2)
        servers = ",".join(map(str, cluster.bootstrap))
        producer = confluent_kafka.Producer({"bootstrap.servers": servers})
        for number in range(10):
            producer.produce("t", str(number).encode(), partition=0)
        assert producer.flush(10) == 0
        yield cluster


def member(cluster: MockCluster, **settings: Any) -> ConfluentMember:
    return ConfluentMember(
        bootstrap=cluster.bootstrap, topics=("t",), group="g", settings={**FAST, **settings}
    )


def poll_until(
    one: ConfluentMember, condition: Callable[[list[Polled], list[MemberEvent]], bool]
) -> tuple[list[Polled], list[MemberEvent]]:
    polled: list[Polled] = []
    events: list[MemberEvent] = []
    deadline = time.monotonic() + 15
    while not condition(polled, events):
        assert time.monotonic() < deadline, f"15 s are over: {polled}, {events}, {one.positions}"
        polled += one.poll(0.1)
        events += one.events()
    return polled, events


def test_a_membership_is_that_of_the_records_polled_last(cluster: MockCluster) -> None:
    """Once a rebalance has begun, that of the generation before it; none before it joined."""
    one = member(cluster)
    assert one.membership is None
    poll_until(one, lambda polled, _: len(polled) == 10)
    before = one.generation
    assert generation_of(one.membership) == before
    # As when the rebalance runs within a poll that returns records.
    one._change("revoked", confluent_kafka.TopicPartition(*LOG), before)
    other = member(cluster)
    deadline = time.monotonic() + 15
    while not any(change.event == "assigned" for change in one._changes):
        assert time.monotonic() < deadline
        one._library.poll(0.1)
        other.poll(0.1)
    assert generation_of(one._library.consumer_group_metadata()) != before
    assert generation_of(one.membership) == before
    one.close()
    assert "assigned" in {each.event for each in one.events()}, "it closes with changes left"
    other.close()


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_member_reads_commits_and_another_goes_on(cluster: MockCluster, assignor: str) -> None:
    one = member(cluster, assignor=assignor)
    assert (one.id, one.generation, one.positions) == ("", None, {})
    polled, events = poll_until(one, lambda polled, _: len(polled) == 10)
    assert [each.offset for each in polled] == list(range(10))
    assert {(each.event, each.log, each.start) for each in events} == {
        ("assigned", LOG, 0),
        ("assigned", ("t", 1), 0),
    }
    assert one.id
    assert one.generation is not None
    assert one.positions[LOG] == 10
    assert one.commit({LOG: 7}, 5) == Ending("ok")
    id = one.id
    one.close()
    assert one.id == id, "it is recorded with what happened at the end"
    assert {(each.event, each.log) for each in one.events()} == {("revoked", LOG), ("revoked", ("t", 1))}
    other = member(cluster, assignor=assignor)
    polled, events = poll_until(other, lambda polled, _: len(polled) == 3)
    assert [each.offset for each in polled] == [7, 8, 9]
    assert (LOG, 7) in {(each.log, each.start) for each in events}
    other.close()


def test_latest_begins_at_the_end(cluster: MockCluster) -> None:
    one = member(cluster, auto_offset_reset="latest")
    _, events = poll_until(one, lambda _, events: len(events) == 2)
    assert (LOG, 10) in {(each.log, each.start) for each in events}
    one.close()


def test_a_seek_is_another_assignment(cluster: MockCluster) -> None:
    one = member(cluster)
    poll_until(one, lambda polled, _: len(polled) == 10)
    before = one.assignment
    one.seek(LOG, 4)
    assert (one.assignment, one.positions[LOG]) == (before + 1, 4)
    polled, _ = poll_until(one, lambda polled, _: len(polled) == 6)
    assert [each.offset for each in polled] == [4, 5, 6, 7, 8, 9]
    one.close()


def test_a_commit_without_an_answer_is_unknown_in_time(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "CLOSE_LIMIT", 0.5)
    one = member(cluster)
    poll_until(one, lambda polled, _: len(polled) == 10)
    for broker in (1, 2, 3):
        cluster.delay(broker, 60_000)
    begun = time.monotonic()
    assert one.commit({LOG: 7}, 0.3).type == "info"
    one.close()
    assert time.monotonic() - begun < 10


def test_our_settings_in_the_names_of_librdkafka() -> None:
    classic = configuration("g", {**FAST, "assignor": "range", "instance": "i", "committed": True})
    assert classic == {
        "group.id": "g",
        "group.protocol": "classic",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "max.poll.interval.ms": 10_000,
        "group.instance.id": "i",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
        "partition.assignment.strategy": "range",
    }
    consumer = configuration("g", {**FAST, "protocol": "consumer", "assignor": "range", "instance": None})
    assert set(consumer) - set(classic) == {"group.remote.assignor"}
    assert not {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"} & set(
        consumer
    )
    with pytest.raises(ValueError, match="expected 'range', 'roundrobin' or 'cooperative-sticky'"):
        configuration("g", {"assignor": "sticky"})


def test_the_generation_is_in_the_metadata() -> None:
    assert generation_of(b"CGMDv2:" + struct.pack("=i", 3) + b"group\0member\0") == 3
    for other in (b"CGMDv2:" + struct.pack("=i", -1), b"CGMDv9:" + struct.pack("=i", 3), b"x", None):
        assert generation_of(other) is None
