"""A member of a group with confluent-kafka: what it has, what it commits, and what its settings mean."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, TopicPartition

from tests.support.mock_cluster import MockCluster, mock_cluster
from workloads.clients.confluent import member as members
from workloads.clients.confluent.member import ConfluentMember, configuration, generation_of
from workloads.clients.protocol import CommitReport, Ending, Log, MemberEvent, Polled

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


class Observed(confluent_kafka.Consumer):
    """The library's consumer: its callbacks, for calls at a moment of the test's choice, and its commits in them."""

    last: Observed

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.on_commit: Callable[..., None] = config.get("on_commit", lambda *_: None)
        self.committed_in_callbacks: list[list[tuple[str, int, int]]] = []
        Observed.last = self

    def subscribe(self, topics: list[str], **callbacks: Callable[..., None]) -> None:
        self.on_assign, self.on_revoke, self.on_lost = (
            callbacks[name] for name in ("on_assign", "on_revoke", "on_lost")
        )
        super().subscribe(topics, **callbacks)

    def commit(self, **options: Any) -> Any:
        if options["asynchronous"]:
            self.committed_in_callbacks.append(
                [(each.topic, each.partition, each.offset) for each in options["offsets"]]
            )
        return super().commit(**options)


@pytest.fixture(autouse=True)
def observed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "Library", Observed)


def revoke(*logs: Log) -> None:
    """As the library does within a poll that takes these partitions away."""
    Observed.last.on_revoke(Observed.last, [TopicPartition(*log) for log in logs])


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
    library = Observed.last
    revoke(LOG)
    other = member(cluster)
    deadline = time.monotonic() + 15
    while generation_of(library.consumer_group_metadata()) == before or not library.assignment():
        assert time.monotonic() < deadline
        library.poll(0.1)
        other.poll(0.1)
    assert generation_of(one.membership) == before
    one.close()
    assert "assigned" in {each.event for each in one.events()}, "it closes with changes left"
    other.close()


def test_a_partition_that_was_lost_within_a_poll_has_no_position_to_commit(cluster: MockCluster) -> None:
    """The next owner may have committed more, and the library sends the epoch with which it joined again."""
    one = member(cluster)
    poll_until(one, lambda polled, _: len(polled) == 10)
    assert one.positions[LOG] == 10
    # As when the callback runs within a poll that returns records.
    Observed.last.on_lost(Observed.last, [TopicPartition(*LOG)])
    assert LOG not in one.positions
    one.close()


@pytest.mark.parametrize("assignor", ["range", pytest.param("cooperative-sticky", marks=pytest.mark.nightly)])
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


def reports_of(one: ConfluentMember, condition: Callable[[list[CommitReport]], bool]) -> list[CommitReport]:
    """It polls, and permits commits after each poll, until the condition holds."""
    reports: list[CommitReport] = []
    deadline = time.monotonic() + 30
    while not condition(reports):
        assert time.monotonic() < deadline, f"30 s are over: {reports}, {one.positions}"
        one.poll(0.1)
        one.allow_commits()
        reports += one.commit_reports()
    return reports


def test_automatic_commits_cover_only_what_was_allowed(cluster: MockCluster) -> None:
    one = member(cluster, commits_in_poll="auto", commit_interval=0.2)
    poll_until(one, lambda polled, _: len(polled) == 10)
    until = time.monotonic() + 1
    while time.monotonic() < until:
        one.poll(0.1)
    assert one.commit_reports() == []
    before = time.monotonic_ns()
    generation = one.generation
    (report,) = reports_of(one, lambda reports: len(reports) == 1)
    assert (report.positions, report.ending, report.generation) == ({LOG: 10}, Ending("ok"), generation)
    assert report.completed is not None
    assert before <= report.invoked <= report.completed <= time.monotonic_ns()
    one.close()
    # The library may commit the same position again when it leaves.
    assert all(each.positions == {LOG: 10} for each in one.commit_reports())


def test_a_member_that_leaves_commits_what_was_allowed(cluster: MockCluster) -> None:
    one = member(cluster, commits_in_poll="auto", commit_interval=60)
    poll_until(one, lambda polled, _: len(polled) == 10)
    one.allow_commits()
    one.close()
    (report,) = one.commit_reports()
    assert (report.positions, report.ending.type) == ({LOG: 10}, "ok")


def test_an_automatic_commit_after_a_rebalance_has_no_generation(cluster: MockCluster) -> None:
    one = member(cluster, commits_in_poll="auto", commit_interval=60)
    poll_until(one, lambda polled, _: len(polled) == 10)
    one.allow_commits()
    allowed, generation = time.monotonic_ns(), one.generation
    assert generation is not None
    after: Any = SimpleNamespace(
        consumer_group_metadata=lambda: b"CGMDv2:" + struct.pack("=i", generation + 1),
        committed=lambda partitions, timeout: [TopicPartition("t", 1, 0)],  # noqa: ARG005 - as the library's
        assign=lambda _: None,
    )
    library = Observed.last
    library.on_assign(after, [TopicPartition("t", 1)])
    one.poll(0)
    assert one.generation == generation + 1
    library.on_commit(None, [TopicPartition(*LOG, 10), TopicPartition("t", 1)])
    (report,) = one.commit_reports()
    assert (report.positions, report.generation) == ({LOG: 10}, None)
    assert report.invoked <= allowed
    library.on_commit(KafkaError(27), [TopicPartition(*LOG, 10)])
    (report,) = one.commit_reports()
    assert report.ending == Ending("info", "REBALANCE_IN_PROGRESS")
    library.on_commit(KafkaError(KafkaError._NO_OFFSET), [])
    assert one.commit_reports() == []
    one.close()


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_member_commits_within_the_rebalance_that_takes_a_partition_away(
    cluster: MockCluster, assignor: str
) -> None:
    """The mock coordinator refuses some of these commits, which real ones accept."""
    one = member(cluster, commits_in_poll="revoked", assignor=assignor)
    poll_until(one, lambda polled, _: len(polled) == 10)
    generation = one.generation
    for _ in range(3):
        one.poll(0.1)
        one.allow_commits()
        assert one.commit_reports() == [], "no rebalance"
    begun = time.monotonic_ns()
    revoke(LOG)
    revoke(LOG)
    (report,) = reports_of(one, lambda reports: len(reports) == 1)
    assert (report.positions, report.ending.type) == ({LOG: 10}, "ok"), "once"
    assert report.generation == generation
    assert report.completed is not None
    assert begun <= report.invoked < report.completed
    one.close()
    assert one.commit_reports() == [], "it leaves without it"


def test_a_commit_within_a_rebalance_covers_what_was_allowed_and_not_committed(cluster: MockCluster) -> None:
    one = member(cluster, commits_in_poll="revoked")
    library = Observed.last
    poll_until(one, lambda polled, _: len(polled) == 10)
    revoke(LOG)
    assert library.committed_in_callbacks == [], "nothing is on disk"
    library.on_assign(library, [TopicPartition(*LOG)])
    poll_until(one, lambda polled, _: len(polled) == 10)
    one.allow_commits()
    assert one.commit({LOG: 10}, 5) == Ending("ok")
    library.on_commit(None, [TopicPartition(*LOG, 10)])
    assert one.commit_reports() == [], "the caller has its answer"
    revoke(LOG)
    assert library.committed_in_callbacks == [], "it is committed already"
    one.allow_commits()
    revoke(LOG)
    assert library.committed_in_callbacks == [], "it is revoked, although its records were just polled"
    one.close()


def test_a_silent_coordinator_does_not_hold_a_rebalance(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A synchronous commit held it for more than 80 s."""
    monkeypatch.setattr(members, "CLOSE_LIMIT", 0.5)
    one = member(cluster, commits_in_poll="revoked")
    poll_until(one, lambda polled, _: len(polled) == 10)
    one.allow_commits()
    for broker in (1, 2, 3):
        cluster.delay(broker, 60_000)
    begun = time.monotonic()
    revoke(LOG)
    assert time.monotonic() - begun < 20
    before = set(threading.enumerate())
    one.close()
    (report,) = one.commit_reports()
    assert (report.positions, report.ending, report.completed) == (
        {LOG: 10},
        Ending("info", "no answer"),
        None,
    )
    for broker in (1, 2, 3):
        cluster.delay(broker, 0)
    for closing in set(threading.enumerate()) - before:
        closing.join(60)
        assert not closing.is_alive(), "it leaves no thread to later tests"
    assert one.commit_reports() == []


def test_commits_in_polls_are_wanted_beforehand(cluster: MockCluster) -> None:
    one = member(cluster)
    with pytest.raises(ValueError, match="commits_in_poll"):
        one.allow_commits()
    one.close()
    config = configuration("g", {"commits_in_poll": "auto", "commit_interval": 1.0})
    assert (config["enable.auto.commit"], config["auto.commit.interval.ms"]) == (True, 1000)
    assert "enable.auto.commit" not in configuration("g", {"commits_in_poll": "revoked"})


def test_a_commit_that_the_library_refuses_does_not_leave_the_rebalance(cluster: MockCluster) -> None:
    class Refusing:
        def commit(self, **_: Any) -> None:
            raise confluent_kafka.KafkaException(KafkaError(KafkaError._STATE))

    one = member(cluster, commits_in_poll="revoked")
    poll_until(one, lambda polled, _: len(polled) == 10)
    one.allow_commits()
    Observed.last.on_revoke(Refusing(), [TopicPartition(*LOG)])
    (report,) = one.commit_reports()
    assert (report.positions, report.ending) == ({LOG: 10}, Ending("info", "_STATE"))
    one.close()
    assert one.commit_reports() == []
