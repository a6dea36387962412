"""Every failure in kafka-python's consumer leaves the position where it was, in the same or a new consumer."""

from __future__ import annotations

import time
from collections import deque
from types import SimpleNamespace
from typing import Any, NamedTuple

import kafka.errors as errors
import pytest
from kafka import TopicPartition

from tests.support.fake_metadata import FakeCluster
from workloads.clients.connection import Address
from workloads.clients.kafka_python import consumer as consumers
from workloads.clients.kafka_python.consumer import OUT_OF_RANGE_LIMIT, REFUSALS, KafkaPythonConsumer
from workloads.clients.protocol import LostPosition, ReportedEnd

LOG = ("t", 0)
OTHER = ("t", 1)


class Record(NamedTuple):
    offset: int
    leader_epoch: int = 0
    value: bytes = b""
    timestamp: int = 0
    key: bytes | None = None


class Markers(NamedTuple):
    """The library has passed markers of transactions up to `end`, and returned nothing."""

    end: int


class FakeConsumer:
    """Answers polls from a script shared by all consumers: records, or an exception."""

    made: list[FakeConsumer]
    script: deque[Any]

    def __init__(self, **_: Any) -> None:
        self.made.append(self)
        self._client = self._fetcher = self._manager = self
        self._conns: dict[str, Any] = {}
        self.cluster = FakeCluster()
        self.start: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.closed = False
        self._next_partition_records = None
        self._subscription = SimpleNamespace(assignment={})

    def assign(self, partitions: list[TopicPartition]) -> None:
        assert partitions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.start[partition] = offset

    def pause(self, partition: TopicPartition) -> None:
        self.paused.add(partition)

    def resume(self, partition: TopicPartition) -> None:
        self.paused.discard(partition)

    def poll(self, timeout_ms: int) -> Any:  # noqa: ARG002 - as the library's
        step = self.script.popleft() if self.script else {}
        if isinstance(step, Markers):
            position = SimpleNamespace(offset=step.end)
            self._subscription.assignment[TopicPartition(*LOG)] = SimpleNamespace(position=position)
            return {}
        if isinstance(step, BaseException):
            raise step
        return {TopicPartition(*log): records for log, records in step.items()}

    def _handle_fetch_response(
        self, node_id: int, fetch_offsets: Any, send_time: float, response: Any
    ) -> None:
        self.handled = (node_id, fetch_offsets, send_time, response)

    def close(self, **_: Any) -> None:
        self.closed = True


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> deque[Any]:
    FakeConsumer.made, FakeConsumer.script = [], deque()
    monkeypatch.setattr(consumers, "KafkaConsumer", FakeConsumer)
    return FakeConsumer.script


def consumer(**start: int) -> KafkaPythonConsumer:
    return KafkaPythonConsumer(
        bootstrap=[Address("127.0.0.1", 1)], start={LOG: 0, OTHER: 5} | {LOG: start.get("at", 0)}
    )


def test_positions_follow_the_records_returned(script: deque[Any]) -> None:
    reader = consumer()
    script.append({LOG: [Record(0), Record(3)]})
    assert [(each.log, each.offset) for each in reader.poll(0.01)] == [(LOG, 0), (LOG, 3)]
    assert reader.positions == {LOG: 4, OTHER: 5}
    assert not reader.poll(0.01)
    assert reader.assignment == 0


def test_out_of_range_keeps_the_position(script: deque[Any]) -> None:
    reader = consumer(at=7)
    script.extend([errors.OffsetOutOfRangeError({TopicPartition(*LOG): 7}), {LOG: [Record(7)]}])
    assert not reader.poll(0.01)
    assert FakeConsumer.made[0].cluster.updates == 1
    assert [each.offset for each in reader.poll(0.01)] == [7]
    assert (len(FakeConsumer.made), reader.assignment) == (1, 0)


def test_a_position_is_refused_after_several_answers_in_a_row(script: deque[Any]) -> None:
    reader = consumer(at=7)
    refusal = errors.OffsetOutOfRangeError({TopicPartition(*LOG): 7})
    script.extend([refusal] * (REFUSALS - 1) + [{LOG: [Record(7)]}] + [refusal] * REFUSALS)
    for _ in range(2 * REFUSALS - 1):
        assert reader.lost() == []
        reader.poll(0.001)
    reader.poll(0.001)
    assert reader.lost() == [LostPosition(LOG, 8)]


def test_a_seek_begins_another_assignment(script: deque[Any]) -> None:
    reader = consumer(at=7)
    script.extend([errors.OffsetOutOfRangeError({TopicPartition(*LOG): 7})] * REFUSALS + [{LOG: [Record(2)]}])
    for _ in range(REFUSALS):
        reader.poll(0.001)
    reader.seek(LOG, 2)
    assert (reader.lost(), reader.assignment, reader.positions[LOG]) == ([], 1, 2)
    assert [each.offset for each in reader.poll(0.01)] == [2]
    assert FakeConsumer.made[1].start == {TopicPartition(*LOG): 2, TopicPartition(*OTHER): 5}


def test_repeated_out_of_range_replaces_the_consumer(script: deque[Any]) -> None:
    reader = consumer(at=7)
    script.extend([errors.OffsetOutOfRangeError({TopicPartition(*LOG): 7})] * OUT_OF_RANGE_LIMIT)
    for _ in range(OUT_OF_RANGE_LIMIT + 1):
        reader.poll(0.001)
    assert [each.closed for each in FakeConsumer.made] == [True, False]
    assert FakeConsumer.made[1].start[TopicPartition(*LOG)] == 7
    assert reader.assignment == 1


@pytest.mark.parametrize("error", [errors.UnknownBrokerIdError(3), errors.UnknownError("x")])
def test_an_error_after_which_the_library_hangs_replaces_the_consumer(
    script: deque[Any], error: Exception
) -> None:
    reader = consumer()
    reader.only((LOG,))
    script.extend([{LOG: [Record(0, leader_epoch=4)]}, error, {LOG: [Record(1)]}])
    reader.poll(0.01)
    assert not reader.poll(0.01)
    assert [each.offset for each in reader.poll(0.01)] == [1]
    assert FakeConsumer.made[1].start == {TopicPartition(*LOG): 1, TopicPartition(*OTHER): 5}
    assert FakeConsumer.made[1].paused == {TopicPartition(*OTHER)}
    assert reader.assignment == 1
    assert reader.leader_epoch(LOG) == 4


def test_a_retriable_error_is_tried_again(script: deque[Any]) -> None:
    reader = consumer()
    script.extend([errors.KafkaConnectionError("x"), {LOG: [Record(0)]}])
    assert not reader.poll(0.01)
    assert len(reader.poll(0.01)) == 1
    assert len(FakeConsumer.made) == 1


def test_truncation_reads_again_from_the_divergence(script: deque[Any]) -> None:
    class Divergence(NamedTuple):
        offset: int

    reader = consumer(at=100)
    script.append(
        errors.LogTruncationError({TopicPartition(*LOG): Divergence(60), TopicPartition(*OTHER): None})
    )
    assert not reader.poll(0.01)
    reader.poll(0.01)
    assert reader.positions == {LOG: 60, OTHER: 5}
    assert reader.assignment == 1


def test_epochs_never_decrease(script: deque[Any]) -> None:
    reader = consumer()
    assert reader.leader_epoch(LOG) == -1
    reader.poll(0.001)
    assert not script
    cluster = FakeConsumer.made[0].cluster
    cluster.updated(5)
    cluster.updated(3)
    assert reader.leader_epoch(LOG) == 5
    # A hint in an answer changes the metadata without an update.
    cluster.epochs[TopicPartition(*LOG)] = 6
    assert reader.leader_epoch(LOG) == 6


def test_only_assigned_logs_can_be_selected(script: deque[Any]) -> None:
    assert not script
    with pytest.raises(ValueError, match="not assigned"):
        consumer().only((("t", 9),))


def response(
    *logs: tuple[str, int],
    records: bytes = b"records",
    end: int = 0,
    error: int = 0,
    of_all: int = 0,
    rather: int = -1,
) -> Any:
    """Of a fetch, as the library decodes it.

    end     the high watermark.
    error   of each partition; `of_all`: of the whole response.
    rather  the replica to read from.
    """
    topics = [
        SimpleNamespace(
            topic=topic,
            partitions=[
                SimpleNamespace(
                    partition_index=partition,
                    records=records,
                    high_watermark=end,
                    error_code=error,
                    preferred_read_replica=rather,
                )
            ],
        )
        for topic, partition in logs
    ]
    return SimpleNamespace(responses=topics, error_code=of_all)


def test_a_record_tells_which_broker_served_it_and_when(script: deque[Any]) -> None:
    """Also where the next response arrives before the poll has returned the records of the one before."""
    reader = consumer()
    reader.poll(0.001)
    library = FakeConsumer.made[0]
    log, other = TopicPartition(*LOG), TopicPartition(*OTHER)
    began = time.monotonic_ns()
    first = response(LOG, OTHER)
    library._handle_fetch_response(3, {log: 0, other: 5}, 0.5, first)
    assert library.handled == (3, {log: 0, other: 5}, 0.5, first)
    library._handle_fetch_response(1, {log: 4}, 0.5, response(LOG))
    library._handle_fetch_response(2, {log: 9}, 0.5, response(LOG, records=b""))
    script.extend([{LOG: [Record(0), Record(3)], OTHER: [Record(7)]}, {LOG: [Record(6)]}])
    first_records, second = reader.poll(0.01), reader.poll(0.01)
    assert [each.fetched.node for each in (*first_records, *second) if each.fetched] == [3, 3, 3, 1]
    times = [each.fetched.at for each in (*first_records, *second) if each.fetched]
    assert began <= times[0] == times[1] == times[2] <= times[3] <= time.monotonic_ns()


def test_a_record_of_an_unknown_response_has_no_broker(script: deque[Any]) -> None:
    reader = consumer()
    script.append({LOG: [Record(0)]})
    assert [each.fetched for each in reader.poll(0.01)] == [None]


def test_the_end_is_that_of_the_last_response_to_a_request_after_the_given_time(script: deque[Any]) -> None:
    """A broker leaves out a partition of which nothing has changed since the last response of the fetch session."""
    reader = consumer()
    assert reader.reported_end(LOG, since=0) is None
    reader.poll(0.001)
    assert not script
    library, log = FakeConsumer.made[0], TopicPartition(*LOG)

    def respond(node: int, asked: float, answer: Any) -> ReportedEnd | None:
        library._handle_fetch_response(node, {log: 0}, asked, answer)
        return reader.reported_end(LOG, since=10**9)

    assert respond(1, 0.5, response(LOG, end=4)) is None, "it was sent before"
    assert respond(1, 1.0, response(LOG, end=4, rather=2)) is None, "the leader only names a follower"
    assert respond(2, 1.1, response(LOG, end=3)) == ReportedEnd(2, 1_100_000_000, 3)
    unchanged = respond(2, 1.2, response())
    assert unchanged == ReportedEnd(2, 1_200_000_000, 3)
    assert respond(1, 1.3, response()) == unchanged, "it has reported no end in its session"
    for nothing in (response(LOG, end=9, error=6), response(LOG, end=-1), response(LOG, end=9, of_all=70)):
        assert respond(2, 1.4, nothing) == unchanged
    assert respond(2, 1.5, response()) == unchanged, "an error is not the same as before"
    assert reader.reported_end(OTHER, since=0) is None


def test_a_log_that_ends_with_a_marker_is_read_to_its_end(script: deque[Any]) -> None:
    script += [{LOG: [Record(0), Record(1)]}, Markers(3), {}]
    one = consumer()
    for _ in range(3):
        one.poll(0)
    assert one.positions == {LOG: 3, OTHER: 5}
