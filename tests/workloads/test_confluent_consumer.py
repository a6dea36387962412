"""The consumer of confluent-kafka moves a position past what it returned, and past markers, and past nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest
from confluent_kafka import KafkaError

from tests.support.mock_cluster import FETCH, MockCluster, mock_cluster
from workloads.clients.confluent.consumer import REFUSALS, ConfluentConsumer, divergence
from workloads.clients.protocol import LostPosition, Polled

LOG, OTHER = ("t", 0), ("t", 1)


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("t", partitions=2)
        yield cluster


def fill(cluster: MockCluster, count: int, partition: int = 0) -> None:
    """Records 0, 1, ... of a log."""
    servers = ",".join(map(str, cluster.bootstrap))
    producer = confluent_kafka.Producer({"bootstrap.servers": servers})
    for number in range(count):
        producer.produce("t", str(number).encode(), partition=partition)
    assert producer.flush(10) == 0


def consumer(cluster: MockCluster, **start: int) -> ConfluentConsumer:
    return ConfluentConsumer(
        bootstrap=cluster.bootstrap, start={LOG: start.get("at", 0), OTHER: start.get("other", 0)}
    )


def poll_until(one: ConfluentConsumer, condition: Callable[[list[Polled]], bool]) -> list[Polled]:
    polled: list[Polled] = []
    deadline = time.monotonic() + 10
    while not condition(polled):
        assert time.monotonic() < deadline, f"10 s are over; positions are {one.positions}, polled {polled}"
        polled += one.poll(0.1)
    return polled


def test_positions_follow_the_records_returned(cluster: MockCluster) -> None:
    fill(cluster, 20)
    one = consumer(cluster, at=5)
    polled = poll_until(one, lambda polled: len(polled) == 15)
    assert [(each.log, each.offset) for each in polled] == [(LOG, offset) for offset in range(5, 20)]
    assert [each.payload for each in polled] == [str(offset).encode() for offset in range(5, 20)]
    assert (one.positions, one.assignment, one.lost()) == ({LOG: 20, OTHER: 0}, 0, [])
    one.close()


def test_other_logs_keep_their_positions(cluster: MockCluster) -> None:
    fill(cluster, 10)
    fill(cluster, 10, partition=1)
    one = consumer(cluster, other=4)
    one.only((LOG,))
    first = poll_until(one, lambda polled: len(polled) == 10)
    assert {each.log for each in first} == {LOG}
    assert one.positions == {LOG: 10, OTHER: 4}
    one.only((OTHER,))
    second = poll_until(one, lambda polled: len(polled) == 6)
    assert [(each.log, each.offset) for each in second] == [(OTHER, offset) for offset in range(4, 10)]
    assert one.assignment == 0
    one.close()


def test_only_assigned_logs_can_be_selected(cluster: MockCluster) -> None:
    one = consumer(cluster)
    with pytest.raises(ValueError, match="not assigned"):
        one.only((("t", 9),))
    one.close()


def test_a_position_out_of_range_is_kept_and_reported(cluster: MockCluster) -> None:
    fill(cluster, 5)
    one = consumer(cluster, at=100)
    poll_until(one, lambda _: one.lost() != [])
    assert one.lost() == [LostPosition(LOG, 100)]
    assert (one.positions[LOG], one.assignment) == (100, 0)
    one.seek(LOG, 2)
    assert (one.lost(), one.assignment) == ([], 1)
    assert [each.offset for each in poll_until(one, lambda polled: len(polled) == 3)] == [2, 3, 4]
    one.close()


def test_fewer_refusals_than_that_are_forgotten_after_a_record(cluster: MockCluster) -> None:
    """A broker that was replaced as the leader refuses positions that exist."""
    fill(cluster, 5)
    cluster.answer_with(FETCH, *[KafkaError.OFFSET_OUT_OF_RANGE] * 2)
    one = consumer(cluster)
    one.only((LOG,))
    assert REFUSALS > 2
    assert [each.offset for each in poll_until(one, lambda polled: len(polled) == 5)] == [0, 1, 2, 3, 4]
    assert (one.lost(), one.assignment) == ([], 0)
    one.close()


def test_a_failed_fetch_is_tried_again(cluster: MockCluster) -> None:
    fill(cluster, 5)
    cluster.answer_with(FETCH, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.UNKNOWN)
    one = consumer(cluster)
    poll_until(one, lambda polled: len(polled) == 5)
    one.close()


def test_a_close_is_in_time(cluster: MockCluster) -> None:
    one = consumer(cluster)
    one.poll(0.1)
    for broker in (1, 2, 3):
        cluster.delay(broker, 60_000)
    begun = time.monotonic()
    one.close()
    assert time.monotonic() - begun < 10


def test_the_divergence_of_a_truncation_is_in_its_text() -> None:
    """As librdkafka 2.16 writes it."""
    text = (
        "Partition log truncation detected at offset 100 (leader epoch 1): broker end offset is 60 (offset leader "
        "epoch 0). Reset to INVALID.: Local: Partition log truncation detected (broker 3)"
    )
    assert divergence(text) == 60
    assert divergence("fetch failed due to requested offset not available on the broker") is None
    assert (
        divergence("No epoch found less or equal to x: broker end offset is -1 (offset leader epoch -1).")
        is None
    )
