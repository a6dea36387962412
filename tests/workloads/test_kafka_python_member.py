"""Every failure in kafka-python's consumer group leaves a member that says what happened, or a new one."""

from __future__ import annotations

import time
from collections import deque
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import kafka.errors as errors
import pytest
from kafka import TopicPartition
from kafka.consumer.subscription_state import SubscriptionState

from workloads.clients.connection import Address
from workloads.clients.kafka_python import consumer
from workloads.clients.kafka_python import member as members
from workloads.clients.kafka_python.member import KafkaPythonMember, member_settings
from workloads.clients.library import library
from workloads.clients.protocol import Ending

LOG = ("t", 0)
PARTITION = TopicPartition(*LOG)
SETTINGS = {
    "session_timeout": 6.0, "heartbeat_interval": 1.5, "max_poll_interval": 10.0, "assignor": "cooperative-sticky",
    "protocol": "classic", "instance": None, "auto_offset_reset": "earliest", "committed": False,
}  # fmt: skip


class Record(NamedTuple):
    offset: int
    leader_epoch: int = 0
    value: bytes = b""
    timestamp: int = 0
    key: bytes | None = None


class FakeCoordinator:
    """In a stable generation; commits end as the script of the consumer says."""

    rejoining = False
    _join_task = None

    def __init__(self, script: deque[Any]) -> None:
        self.script = script
        self._manager = self
        self.generation: int | None = 4
        self.known = True

    def generation_if_stable(self) -> Any:
        return None if self.generation is None else self.group_metadata()

    def group_metadata(self) -> Any:
        return SimpleNamespace(generation_id=self.generation, member_id=f"m{self.generation}")

    def reset_generation(self) -> None:
        self.generation = None

    def ensure_coordinator_ready(self, timeout_ms: float) -> bool:
        assert timeout_ms > 0
        return self.known

    def call_soon(self, request: Any, offsets: Any) -> Any:
        return request, {partition: offset.offset for partition, offset in offsets.items()}

    def _send_offset_commit_request(self, offsets: Any) -> None:
        raise AssertionError(offsets)

    def wait_for(self, attempt: Any, timeout_ms: float) -> Any:
        assert attempt[1] == {PARTITION: 9}
        assert timeout_ms > 0
        step = self.script.popleft()
        if step is not None:
            raise step
        return step


class FakeConsumer:
    """Answers polls from a script shared by all consumers: records, or an exception."""

    made: list[FakeConsumer]
    script: deque[Any]
    partitions: ClassVar[set[int]] = {0}
    """Of each topic, as far as the library knows."""

    def __init__(self, **settings: Any) -> None:
        self.made.append(self)
        self.settings = settings
        self._subscription = SubscriptionState("earliest")
        self._coordinator = FakeCoordinator(self.script)
        self._fetcher = SimpleNamespace(_handle_fetch_response=None)
        self._net = SimpleNamespace(run=lambda function, *values: function(*values))
        one, other = (SimpleNamespace(host="127.0.0.1", port=port) for port in (1, 2))
        cluster = SimpleNamespace(brokers=lambda: [one], bootstrap_brokers=lambda: [one, other])
        self.connections = {1: SimpleNamespace(connected=True)}
        self._client = SimpleNamespace(_manager=SimpleNamespace(_conns=self.connections, cluster=cluster))
        self.listener: Any = None
        self.closed = False

    def partitions_for_topic(self, _: str) -> set[int]:
        return self.partitions

    def subscribe(self, topics: list[str], listener: Any) -> None:
        self._subscription.subscribe(topics=topics)
        self.listener = listener

    def poll(self, timeout_ms: int) -> Any:  # noqa: ARG002 - as the library's
        step = self.script.popleft() if self.script else {}
        if isinstance(step, BaseException):
            raise step
        return {TopicPartition(*log): records for log, records in step.items()}

    def own(self, start: int) -> None:
        self._subscription.assign_from_subscribed([PARTITION])
        self.listener.on_partitions_assigned([PARTITION])
        self._subscription.seek(PARTITION, start)

    def group_metadata(self) -> Any:
        return self._coordinator.group_metadata()

    def close(self, **_: Any) -> None:
        if self.listener is not None:
            self.listener.on_partitions_revoked([PARTITION])
        self.closed = True


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> deque[Any]:
    FakeConsumer.made, FakeConsumer.script = [], deque()
    monkeypatch.setattr(members, "KafkaConsumer", FakeConsumer)
    return FakeConsumer.script


def member(**settings: Any) -> KafkaPythonMember:
    return KafkaPythonMember(
        bootstrap=[Address("127.0.0.1", 1)], topics=("t",), group="g", settings=SETTINGS | settings
    )


def joined() -> KafkaPythonMember:
    one = member()
    one.poll(0.01)
    FakeConsumer.made[0].own(5)
    return one


@pytest.mark.parametrize("error", [None, errors.KafkaConnectionError()])
def test_a_member_without_the_brokers_that_it_knows_joins_by_others(
    script: deque[Any], monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """See test_kafka_python_stranded.py."""
    monkeypatch.setattr(consumer, "STRANDED_LIMIT", 0.0)
    one = joined()
    one.poll(0.01)
    assert len(FakeConsumer.made) == 1
    FakeConsumer.made[0].connections.clear()
    script.append(error or {})
    one.poll(0.01)
    assert FakeConsumer.made[0].closed
    assert [each.event for each in one.events()] == ["assigned", "revoked"]
    one.poll(0.01)
    assert len(FakeConsumer.made) == 2
    assert not FakeConsumer.made[1].closed


def test_settings_are_spelled_as_the_library_does() -> None:
    made = member_settings("g", SETTINGS | {"instance": "i", "committed": True})
    assert (made["group_id"], made["group_instance_id"], made["isolation_level"]) == (
        "g",
        "i",
        "read_committed",
    )
    assert (made["session_timeout_ms"], made["heartbeat_interval_ms"], made["max_poll_interval_ms"]) == (
        6000, 1500, 10_000,
    )  # fmt: skip
    assert made["enable_auto_commit"] is False
    assert [each.name for each in made["partition_assignment_strategy"]] == ["cooperative-sticky"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"protocol": "consumer"}, "use library='confluent-kafka'"),
        ({"assignor": "uniform"}, "assignor='uniform': expected one of range, roundrobin"),
    ],
)
def test_what_the_library_lacks_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        library("kafka-python").member(
            bootstrap=[Address("127.0.0.1", 1)], topics=("t",), group="g", settings=SETTINGS | settings
        )


def test_it_joins_only_once_the_partitions_of_its_topics_are_known(
    script: deque[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader of a group assigns what it knows, and the library does not join again when it knows more."""
    monkeypatch.setattr(FakeConsumer, "partitions", set())
    one = member()
    script.append({LOG: [Record(5)]})
    assert not one.poll(0.01)
    (first,) = FakeConsumer.made
    assert (first.listener, first.closed) == (None, True)
    monkeypatch.setattr(FakeConsumer, "partitions", {0})
    assert [each.offset for each in one.poll(0.01)] == [5]
    assert FakeConsumer.made[1].listener is not None


def test_a_poll_joins_the_group_and_returns_records(script: deque[Any]) -> None:
    one = member()
    assert (one.id, one.generation, one.positions, one.membership) == ("", None, {}, None)
    script.append({LOG: [Record(5), Record(8)]})
    assert [(each.log, each.offset) for each in one.poll(0.01)] == [(LOG, 5), (LOG, 8)]
    assert (one.id, one.generation) == ("m4", 4)
    FakeConsumer.made[0].own(5)
    assert [(each.event, each.start) for each in one.events()] == [("assigned", 5)]
    assert one.events() == []
    assert one.positions == {LOG: 5}


def test_a_membership_is_that_of_the_records_polled_last(script: deque[Any]) -> None:
    """The library's own has neither an id nor a generation once the group has replaced the member, and those of the
    next generation once it has joined again: both would commit what another member may have polled, too."""
    one = joined()
    script.append({LOG: [Record(5)]})
    one.poll(0.01)
    for generation in (None, 5):
        FakeConsumer.made[0]._coordinator.generation = generation
        metadata = one.membership
        assert (metadata.group_id, metadata.generation_id, metadata.member_id) == ("g", 4, "m4")
    one.close()
    assert one.membership is None


def test_records_of_a_buffer_keep_the_generation_before_a_rebalance(script: deque[Any]) -> None:
    one = joined()
    FakeConsumer.made[0]._coordinator.generation = None
    script.append({LOG: [Record(5)]})
    assert len(one.poll(0.01)) == 1
    assert (one.id, one.generation) == ("m4", 4)


def test_revoked_partitions_have_no_position(script: deque[Any]) -> None:  # noqa: ARG001 - installs the fake
    """The library keeps them until it has joined the group again."""
    one = joined()
    FakeConsumer.made[0].listener.on_partitions_revoked([PARTITION])
    assert one.positions == {}


@pytest.mark.parametrize(
    "error", [errors.KafkaConnectionError(), errors.UnknownMemberIdError(), errors.RebalanceInProgressError()]
)
def test_errors_that_pass_keep_the_consumer(script: deque[Any], error: Exception) -> None:
    one = joined()
    script.append(error)
    assert not one.poll(0.01)
    assert len(FakeConsumer.made) == 1
    assert one.positions == {LOG: 5}


@pytest.mark.parametrize("error", [errors.UnknownBrokerIdError(), errors.FencedInstanceIdError()])
def test_errors_that_stay_replace_the_consumer(script: deque[Any], error: Exception) -> None:
    one = joined()
    before = one.assignment
    script.append(error)
    assert not one.poll(0.01)
    assert [each.event for each in one.events()] == ["assigned", "revoked"]
    assert one.positions == {}
    one.poll(0.01)
    assert [each.closed for each in FakeConsumer.made] == [True, False]
    assert one.assignment > before


def test_without_a_broker_a_poll_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise errors.KafkaTimeoutError

    monkeypatch.setattr(members, "KafkaConsumer", refuse)
    one = member()
    assert not one.poll(0.01)
    assert one.commit({LOG: 9}, 1) == Ending("fail", "the member has no connection")
    one.close()


@pytest.mark.parametrize(
    ("error", "type_"),
    [
        (None, "ok"),
        (errors.CommitFailedError(), "fail"),
        (errors.FencedInstanceIdError(), "fail"),
        (errors.RebalanceInProgressError(), "fail"),
        (errors.NodeNotReadyError(), "fail"),
        (errors.NotCoordinatorError(), "info"),
        (errors.CoordinatorNotAvailableError(), "info"),
        (errors.RequestTimedOutError(), "info"),
        (errors.KafkaTimeoutError(), "info"),
        (errors.KafkaConnectionError(), "info"),
        (errors.UnknownTopicOrPartitionError(), "info"),
    ],
)
def test_a_commit_fails_only_where_it_certainly_had_no_effect(
    script: deque[Any], error: Exception | None, type_: str
) -> None:
    one = joined()
    script.append(error)
    ending = one.commit({LOG: 9}, 1)
    assert ending == Ending(type_, None if error is None else type(error).__name__)  # type: ignore[arg-type]


def test_a_commit_without_a_coordinator_is_not_sent(script: deque[Any]) -> None:
    one = joined()
    FakeConsumer.made[0]._coordinator.known = False
    assert one.commit({LOG: 9}, 1).type == "fail"
    assert not script


def test_a_seek_begins_another_assignment(script: deque[Any]) -> None:  # noqa: ARG001 - installs the fake
    one = joined()
    before, consumer = one.assignment, FakeConsumer.made[0]
    consumer.seek = lambda partition, offset: consumer._subscription.assignment[partition].seek(offset)  # type: ignore[attr-defined]
    one.seek(LOG, 2)
    assert (one.positions, one.assignment) == ({LOG: 2}, before + 1)
    with pytest.raises(ValueError, match=r"log \('t', 1\) is not assigned; these are: \[\('t', 0\)\]"):
        one.seek(("t", 1), 2)


def test_a_close_that_hangs_is_not_waited_for(script: deque[Any], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setattr(members, "CLOSE_LIMIT", 0.05)
    one = joined()
    FakeConsumer.made[0].close = lambda **_: time.sleep(2)  # type: ignore[method-assign]
    began = time.monotonic()
    one.close()
    assert time.monotonic() - began < 1.5
    assert [each.event for each in one.events()] == ["assigned", "lost"]
