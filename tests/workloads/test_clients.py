"""Every failure in kafka-python ends in a completion, or in a new client at the same position."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import kafka.errors as errors
import pytest
from kafka import TopicPartition
from kafka.future import Future

from workloads.clients import requests
from workloads.clients.connection import Address
from workloads.clients.kafka_python import consumer as consumers
from workloads.clients.kafka_python import producer as producers
from workloads.clients.kafka_python.consumer import OUT_OF_RANGE_LIMIT, KafkaPythonConsumer
from workloads.clients.kafka_python.producer import KafkaPythonProducer
from workloads.clients.leaders import Leaders
from workloads.clients.outcome import Attempts
from workloads.clients.patches.attempts import SendFailed
from workloads.clients.requests import EARLIEST, LATEST, Leadership

LOG = ("t", 0)
OTHER = ("t", 1)


class FakeCluster:
    """The part of kafka-python's ClusterMetadata that is used."""

    def __init__(self) -> None:
        self.epochs: dict[TopicPartition, int] = {}
        self.listeners: list[Callable[[FakeCluster], None]] = []
        self.updates = 0

    def add_listener(self, listener: Callable[[FakeCluster], None]) -> None:
        self.listeners.append(listener)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {each.partition for each in self.epochs if each.topic == topic}

    def leader_epoch_for_partition(self, partition: TopicPartition) -> int | None:
        return self.epochs.get(partition)

    def request_update(self) -> None:
        self.updates += 1

    def updated(self, epoch: int) -> None:
        self.epochs[TopicPartition(*LOG)] = epoch
        for listener in self.listeners:
            listener(self)


class Record(NamedTuple):
    offset: int
    leader_epoch: int = 0
    value: bytes = b""


class FakeConsumer:
    """Answers polls from a script shared by all consumers: records, or an exception."""

    made: list[FakeConsumer]
    script: deque[Any]

    def __init__(self, **_: Any) -> None:
        self.made.append(self)
        self._client = self
        self.cluster = FakeCluster()
        self.start: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.closed = False

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
        if isinstance(step, BaseException):
            raise step
        return {TopicPartition(*log): records for log, records in step.items()}

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


def test_positions_follow_what_was_returned(script: deque[Any]) -> None:
    reader = consumer()
    script.append({LOG: [Record(0), Record(3)]})
    assert [(each.log, each.offset) for each in reader.poll(0.01)] == [(LOG, 0), (LOG, 3)]
    assert reader.positions == {LOG: 4, OTHER: 5}
    assert reader.poll(0.01) == []
    assert reader.assignment == 0


def test_out_of_range_stays_where_it_is(script: deque[Any]) -> None:
    reader = consumer(at=7)
    script.extend([errors.OffsetOutOfRangeError({}), {LOG: [Record(7)]}])
    assert reader.poll(0.01) == []
    assert FakeConsumer.made[0].cluster.updates == 1
    assert [each.offset for each in reader.poll(0.01)] == [7]
    assert (len(FakeConsumer.made), reader.assignment) == (1, 0)


def test_out_of_range_for_long_asks_with_a_new_consumer(script: deque[Any]) -> None:
    reader = consumer(at=7)
    script.extend([errors.OffsetOutOfRangeError({})] * OUT_OF_RANGE_LIMIT)
    for _ in range(OUT_OF_RANGE_LIMIT + 1):
        reader.poll(0.001)
    assert [each.closed for each in FakeConsumer.made] == [True, False]
    assert FakeConsumer.made[1].start[TopicPartition(*LOG)] == 7
    assert reader.assignment == 1


@pytest.mark.parametrize("error", [errors.UnknownBrokerIdError(3), errors.UnknownError("x")])
def test_an_error_that_leaves_the_library_stuck_ends_the_consumer(
    script: deque[Any], error: Exception
) -> None:
    reader = consumer()
    reader.only((LOG,))
    script.extend([{LOG: [Record(0, leader_epoch=4)]}, error, {LOG: [Record(1)]}])
    reader.poll(0.01)
    assert reader.poll(0.01) == []
    assert [each.offset for each in reader.poll(0.01)] == [1]
    assert FakeConsumer.made[1].start == {TopicPartition(*LOG): 1, TopicPartition(*OTHER): 5}
    assert FakeConsumer.made[1].paused == {TopicPartition(*OTHER)}
    assert reader.assignment == 1
    assert reader.leader_epoch(LOG) == 4


def test_a_retriable_error_is_tried_again(script: deque[Any]) -> None:
    reader = consumer()
    script.extend([errors.KafkaConnectionError("x"), {LOG: [Record(0)]}])
    assert reader.poll(0.01) == []
    assert len(reader.poll(0.01)) == 1
    assert len(FakeConsumer.made) == 1


def test_truncation_reads_again_from_the_divergence(script: deque[Any]) -> None:
    class Divergence(NamedTuple):
        offset: int

    reader = consumer(at=100)
    script.append(
        errors.LogTruncationError({TopicPartition(*LOG): Divergence(60), TopicPartition(*OTHER): None})
    )
    assert reader.poll(0.01) == []
    reader.poll(0.01)
    assert reader.positions == {LOG: 60, OTHER: 5}
    assert reader.assignment == 1


def test_epochs_never_go_back(script: deque[Any]) -> None:
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


def test_only_what_is_assigned_can_be_wanted(script: deque[Any]) -> None:
    assert not script
    with pytest.raises(ValueError, match="not assigned"):
        consumer().only((("t", 9),))


class State(NamedTuple):
    name: str


class FakeProducer:
    """Futures resolve when the test says so."""

    def __init__(self, **config: Any) -> None:
        self.config = config
        self._metadata = FakeCluster()
        self._sender = self
        self._transaction_manager: FakeProducer | None = self
        self.futures: list[Any] = []
        self.refusal: BaseException | None = None
        self.fatal, self.identified, self._current_state = False, True, State("READY")
        self.last_error = errors.MessageSizeTooLargeError()
        self.hangs = threading.Event()

    def send(self, topic: str, value: bytes, partition: int) -> Any:
        assert (topic, partition, value) == (*LOG, b"x")
        if self.refusal is not None:
            raise self.refusal
        self.futures.append(Future())
        return self.futures[-1]

    def is_alive(self) -> bool:
        return True

    def has_fatal_error(self) -> bool:
        return self.fatal

    def has_producer_id(self) -> bool:
        return self.identified

    def close(self, timeout: float) -> None:
        raise errors.KafkaTimeoutError(timeout)

    def force_close(self) -> None:
        """Leaves futures as they are: the worst case."""

    def join(self, timeout: float) -> None:
        """Gone."""


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> KafkaPythonProducer:
    monkeypatch.setattr(producers, "KafkaProducer", FakeProducer)
    monkeypatch.setattr(producers.attempts, "install", lambda: None)
    return KafkaPythonProducer(
        bootstrap=[Address("127.0.0.1", 1)],
        topics=("t",),
        acks="all",
        idempotence=True,
        config={"linger_ms": 5},
    )


def fake(producer: KafkaPythonProducer) -> FakeProducer:
    found: FakeProducer = producer._producer
    return found


def types(completions: Iterable[Any]) -> list[tuple[int, str]]:
    return [(each.op, each.outcome.type) for each in completions]


def test_settings_of_the_workload_win(producer: KafkaPythonProducer) -> None:
    config = fake(producer).config
    assert (config["linger_ms"], config["acks"], config["enable_idempotence"]) == (5, "all", True)


def test_each_send_has_one_completion(producer: KafkaPythonProducer) -> None:
    for op in range(4):
        producer.send(op, LOG, b"x")
    done, failed, aborted, unknown = fake(producer).futures

    class Metadata(NamedTuple):
        offset: int

    done.success(Metadata(7))
    failed.failure(SendFailed(errors.KafkaTimeoutError(), Attempts(drained=False)))
    aborted.failure(SendFailed(errors.IllegalStateError(), Attempts(drained=True, aborted=True)))
    assert types(producer.take(0)) == [(0, "ok"), (1, "fail"), (2, "info")]
    assert producer.in_flight == 1
    assert types(producer.close(0)) == [(3, "info")]
    # It has a completion; a later result does not change it.
    unknown.success(Metadata(9))
    assert producer.take(0) == []
    assert producer.in_flight == 0


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (errors.KafkaTimeoutError("no metadata"), "fail"),
        (errors.IllegalStateError("closed"), "fail"),
        (ValueError("no such partition"), "fail"),
        (OSError("could not wake the network thread"), "info"),
    ],
)
def test_a_refusal_is_a_completion(producer: KafkaPythonProducer, refusal: Exception, kind: str) -> None:
    fake(producer).refusal = refusal
    producer.send(1, LOG, b"x")
    assert types(producer.take(0)) == [(1, kind)]


def test_an_untraced_failure_is_info_unless_it_came_before_any_batch(producer: KafkaPythonProducer) -> None:
    producer.send(1, LOG, b"x")
    fake(producer).futures[0].failure(errors.MessageSizeTooLargeError())
    assert types(producer.take(0)) == [(1, "info")]


def test_a_producer_of_no_more_use_says_so(
    producer: KafkaPythonProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert producer.problem() is None
    inner = fake(producer)
    inner.fatal = True
    assert producer.problem() == "poisoned by MessageSizeTooLargeError"
    inner.fatal, inner.identified = False, False
    assert producer.problem() == "wedged: ready, but without a producer id"
    inner._current_state = State("INITIALIZING")
    assert producer.problem() is None
    inner._transaction_manager = None
    monkeypatch.setattr(producers, "STALL", -1.0)
    assert producer.problem() is None
    producer.send(1, LOG, b"x")
    assert producer.problem() == "nothing completed for -1 s"


def test_a_producer_remembers_the_highest_epoch(producer: KafkaPythonProducer) -> None:
    fake(producer)._metadata.updated(5)
    fake(producer)._metadata.updated(2)
    assert producer.leader_epoch(LOG) == 5


BROKERS = {1: Address("old", 1), 2: Address("new", 2)}


class FakeBrokers:
    """Metadata and ends by host; a host without them closes the connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.views: dict[str, Leadership] = {}
        self.ends: dict[str, Callable[[int, int], tuple[int, int]]] = {}
        self.asked: list[tuple[str, int]] = []
        monkeypatch.setattr(requests, "metadata", self._metadata)
        monkeypatch.setattr(requests, "offsets", self._offsets)

    def _metadata(self, ask: Any, topics: Iterable[str]) -> dict[Any, Leadership]:
        assert tuple(topics) == ("t",)
        host = ask.args[0][0]
        if host not in self.views:
            raise ConnectionResetError(host)
        return {LOG: self.views[host]}

    def _offsets(
        self, ask: Any, epochs: Mapping[Any, int], *, at: int = LATEST
    ) -> dict[Any, tuple[int, int]]:
        host = ask.args[0][0]
        self.asked.append((host, epochs[LOG]))
        if host not in self.ends:
            raise TimeoutError(host)
        return {LOG: self.ends[host](epochs[LOG], at)}


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> FakeBrokers:
    return FakeBrokers(monkeypatch)


@pytest.fixture
def leaders() -> Leaders:
    return Leaders(BROKERS, ["t"], stop=threading.Event())


def epoch_is(epoch: int, end: int) -> Callable[[int, int], tuple[int, int]]:
    """As a broker answers: error 74 (fenced) to epochs older than its own, 75 (unknown) to newer ones."""
    return lambda asked, at: (
        (0, end if at == LATEST else 0) if asked == epoch else (74 if asked < epoch else 75, -1)
    )


def test_the_end_is_told_by_the_leader_of_the_highest_epoch(brokers: FakeBrokers, leaders: Leaders) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2)), "new": Leadership(2, 5, (2,))}
    brokers.ends = {"old": epoch_is(4, 55), "new": epoch_is(5, 173)}
    assert leaders.offset(LOG, limit=1) == 173
    assert leaders.offset(LOG, at=EARLIEST, limit=1) == 0
    assert brokers.asked == [("new", 5), ("new", 5)]


def test_a_frozen_leader_is_not_asked_once_a_newer_epoch_was_heard_of(
    brokers: FakeBrokers, leaders: Leaders
) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 55), "new": epoch_is(5, 173)}
    assert leaders.offset(LOG, limit=1) == 55
    with pytest.raises(TimeoutError, match="no broker knows leader epoch 5; the highest is 4"):
        leaders.offset(LOG, epoch=5, limit=0.3)
    brokers.views["new"] = Leadership(2, 5, (2,))
    assert leaders.offset(LOG, epoch=5, limit=1) == 173


def test_a_leader_that_learnt_of_its_successor_leads_there(brokers: FakeBrokers, leaders: Leaders) -> None:
    brokers.views = {"old": Leadership(1, 4, (1, 2))}
    brokers.ends = {"old": epoch_is(4, 55), "new": epoch_is(5, 173)}
    leaders.refresh()
    brokers.views = {"old": Leadership(2, 5, (2,)), "new": Leadership(2, 5, (2,))}
    brokers.ends["old"] = epoch_is(5, -1)
    assert leaders.offset(LOG, limit=1) == 173


@pytest.mark.parametrize(
    ("views", "said"),
    [
        ({}, "no broker names a leader: None"),
        ({"old": Leadership(-1, 3, ())}, "no broker names a leader"),
        ({"old": Leadership(1, 3, (1,))}, "last: old"),
        ({"old": Leadership(2, 3, (1,))}, "broker 2 answered FencedLeaderEpochError"),
    ],
)
def test_no_answer_in_time(
    brokers: FakeBrokers, leaders: Leaders, views: dict[str, Leadership], said: str
) -> None:
    brokers.views, brokers.ends = views, {"new": epoch_is(9, 0)}
    with pytest.raises(TimeoutError, match=said):
        leaders.offset(LOG, limit=0.2)


def test_a_stop_ends_the_wait(brokers: FakeBrokers) -> None:
    assert not brokers.views
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(TimeoutError):
        Leaders(BROKERS, ["t"], stop=stop).offset(LOG, limit=60)
