"""How sends, transactions and commits of the Java client end on a real broker: those endings that its settings, its
topics and its groups bring about. tests/workloads/test_java_outcomes.py has all others."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from tests.support import sends
from tests.support.java_client import java_library
from tests.support.real_cluster import own, wait_until
from workloads.clients.command.library import CommandLibrary
from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Ending

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(400)]

RELEASES = ("2.8.2", "3.2.0", "3.7.2", "4.1.1", "4.3.1", "4.4.0")


@pytest.fixture(scope="module")
def broker(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    config = {
        "group.consumer.min.session.timeout.ms": "3000",
        "group.consumer.session.timeout.ms": "3000",
        "group.consumer.min.heartbeat.interval.ms": "500",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.initial.rebalance.delay.ms": "0",
    }
    spec = ClusterSpec(version="4.1.1", brokers=1, config=config)
    ensure_class_archives(engine, spec.version, image_for(spec.version, engine), print)
    with running(engine, spec, run=own("outcomes"), logs=tmp_path_factory.mktemp("logs")) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=RELEASES)
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CommandLibrary]:
    log: Path = tmp_path_factory.mktemp("java") / "client.log"
    one = CommandLibrary(java_library(request.param), log=log)
    yield one
    one.close()


def topic(broker: DockerCluster, **config: Any) -> str:
    name = own(f"outcomes-{secrets.token_hex(4)}")
    settings = {key.replace("_", "."): value for key, value in config.items()}
    topics.create(broker.brokers, name, partitions=1, replication_factor=1, config=settings)
    wait_until(lambda: broker.leader(name, 0) is not None)
    return name


def outcome(one: Any, name: str, payload: bytes = b"x") -> Outcome:
    return sends.outcome(one, (name, 0), payload)


def visible(client: CommandLibrary, broker: DockerCluster, name: str, *, committed: bool) -> list[bytes]:
    """The records of the topic, once a record that is sent behind them is read."""
    last = client.producer(
        bootstrap=broker.brokers.values(), topics=(name,), acks=1, idempotence=False, settings={}
    )
    assert outcome(last, name, b"last").type == "ok"
    last.close(5)
    reader = client.consumer(bootstrap=broker.brokers.values(), start={(name, 0): 0}, committed=committed)
    found: list[bytes] = []

    def has_last() -> bool:
        found.extend(each.payload for each in reader.poll(0.2) if each.payload is not None)
        return b"last" in found

    wait_until(has_last)
    reader.close()
    return found[:-1]


def producer(client: CommandLibrary, broker: DockerCluster, name: str, **settings: Any) -> Any:
    return client.producer(
        bootstrap=broker.brokers.values(), topics=(name,), acks="all", idempotence=True, settings=settings
    )


def transactional(client: CommandLibrary, broker: DockerCluster, name: str, **settings: Any) -> Any:
    one = client.transactional(
        bootstrap=broker.brokers.values(),
        topics=(name,),
        transactional_id=name,
        timeout=30,
        settings=settings,
    )
    one.begin()
    return one


def test_what_the_topic_finds_too_large(client: CommandLibrary, broker: DockerCluster) -> None:
    name = topic(broker, max_message_bytes=1000)
    one = producer(client, broker, name)
    assert outcome(one, name, b"x" * 5000) == Outcome("info", None, "MESSAGE_TOO_LARGE")
    assert outcome(one, name, b"y").type == "ok"
    one.close(3)
    assert visible(client, broker, name, committed=False) == [b"y"]


@pytest.mark.parametrize("limit", ["client", "topic"])
def test_a_transaction_with_a_failed_send(client: CommandLibrary, broker: DockerCluster, limit: str) -> None:
    """Once a record has failed the commit is refused, and the transaction is aborted: except with 2.8, for what the
    client itself refuses."""
    name = topic(broker, max_message_bytes=1000) if limit == "topic" else topic(broker)
    settings = {"max.request.size": 1000} if limit == "client" else {}
    one = transactional(client, broker, name, **settings)
    assert outcome(one, name, b"small").type == "ok"
    assert outcome(one, name, b"x" * 5000).type == ("fail" if limit == "client" else "info")
    ended = one.end("commit", 10)
    goes_on = limit == "client" and client.version().endswith("2.8.2")
    assert ended.type == ("ok" if goes_on else "fail")
    one.close(5)
    assert visible(client, broker, name, committed=True) == ([b"small"] if goes_on else [])


def test_a_producer_whose_id_another_one_has_claimed(client: CommandLibrary, broker: DockerCluster) -> None:
    name = topic(broker)
    one = transactional(client, broker, name)
    assert outcome(one, name, b"first").type == "ok"
    other = transactional(client, broker, name)
    # With the sends of a former epoch the library may go on for a while: each ends once.
    for _ in range(3):
        assert outcome(one, name, b"later").type == "info"
    assert one.end("commit", 10).type in ("fail", "info")
    one.close(5)
    assert other.end("commit", 10) == Ending("ok")
    other.close(5)
    assert visible(client, broker, name, committed=True) == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_commit_of_one_that_is_no_member_any_more(
    client: CommandLibrary, broker: DockerCluster, protocol: str
) -> None:
    if protocol == "consumer" and client.version().rsplit(" ", 1)[1] < "4":
        pytest.skip("clients before 4.0 have a preview of the protocol")
    name = topic(broker)
    one = producer(client, broker, name)
    for number in range(5):
        assert outcome(one, name, str(number).encode()).type == "ok"
    one.close(3)
    settings: dict[str, Any] = {"protocol": protocol, "max_poll_interval": 2}
    if protocol == "classic":
        settings |= {"session_timeout": 6, "heartbeat_interval": 0.5}
    first, second = (
        client.member(bootstrap=broker.brokers.values(), topics=(name,), group=name, settings=settings)
        for _ in range(2)
    )
    wait_until(lambda: bool(first.poll(0.2)))
    assert first.commit({(name, 0): 2}, 5) == Ending("ok")
    # It does not poll for longer than it may, and leaves the group.
    time.sleep(3)
    wait_until(lambda: bool(second.poll(0.2)))
    assert first.commit({(name, 0): 1}, 3) == Ending("info", "COMMIT_FAILED")
    second.close()
    first.close()
    again = client.member(bootstrap=broker.brokers.values(), topics=(name,), group=name, settings=settings)
    found: list[int] = []

    def has_some() -> bool:
        found.extend(each.offset for each in again.poll(0.2))
        return bool(found)

    wait_until(has_some)
    assert found[0] == 2
    again.close()
