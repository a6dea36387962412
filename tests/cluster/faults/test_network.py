"""Faults of the network, on a real cluster."""

from __future__ import annotations

import shlex
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka.protocol.metadata import ApiVersionsRequest

from nemesis.effects import nft
from nemesis.effects.network import filtered
from nemesis.effects.nft import LEASE, chain, table
from nemesis.effects.probe import probe
from nemesis.event import Event
from nemesis.faults.delay import Delay
from nemesis.faults.duplicate import Duplicate
from nemesis.faults.loss import Loss
from nemesis.faults.loss import chains as loss_rules
from nemesis.faults.reorder import Reorder
from nemesis.faults.reset import COMMAND
from nemesis.faults.reset import RULES as RESET_RULES
from nemesis.faults.reset import TABLE as RESET_TABLE
from nemesis.tasks import wait_until
from pytest_kafkacheck import (
    bandwidth,
    bridge,
    cut_clients,
    delay,
    dns,
    duplicate,
    halves,
    isolate,
    loss,
    partition,
    reorder,
    reset,
)
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.nodes import agent
from pytest_kafkacheck.errors import CapabilityError
from pytest_kafkacheck.setup.capabilities import require_capabilities
from tests.support.fault_run import LIMIT, LONG, Injection, connects, eventually, links, produce, unproved
from workloads.clients.connection import Connection
from workloads.clients.kafka_python import access

pytestmark = pytest.mark.cluster

KILL_AGENTS = "kill -9 $(grep -lz 'heal()' /proc/[0-9]*/cmdline | grep -v self | cut -d/ -f3 | grep -vx $$)"
"""A command for the pod of a node: kill the agents in it."""


@pytest.mark.nightly
@pytest.mark.parametrize("lease", [10, pytest.param(LEASE, marks=pytest.mark.nightly)])
def test_rules_lapse_when_their_agent_is_killed(
    cluster: DockerCluster, topic: str, monkeypatch: pytest.MonkeyPatch, lease: int
) -> None:
    """Packets pass again although nothing deletes the rules. lease: in seconds, longer than two heartbeats."""
    for module, name in ((nft, "_ELEMENTS"), (agent, "RENEW")):
        monkeypatch.setattr(module, name, getattr(module, name).replace(f"{LEASE}s", f"{lease}s"))
    deaf = partition([[3], [1, 2]], one_way="in", lasting=LONG)  # rules on that node only
    injection = Injection(cluster, deaf, topic=topic)
    injection.__enter__()
    try:
        assert not connects(cluster, 1, 3)
        killed = cluster.client.api.exec_create(cluster.nodes[3].pod, ["bash", "-c", KILL_AGENTS])["Id"]
        cluster.client.api.exec_start(killed)
        # Probe only from the other node: a command in the node's own network would start another agent.
        assert wait_until(lambda: probe(cluster.nodes, links(cluster, 1, 3))[0].reached, limit=lease + LIMIT)
    finally:
        injection.finish()
    heal = injection.rows["heal"]["value"]
    assert heal["effective"] is False
    assert "lapsed" in heal["evidence"]["ended_early"]
    assert "heal-all" not in injection.rows, "the heal deleted the rules"
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize(
    ("event", "cut"),
    [
        (isolate(1, lasting=LONG), {(1, 2), (2, 1), (1, 3), (3, 1)}),
        *(
            # By day, halves and a bridge partition groups.
            pytest.param(event, cut, marks=pytest.mark.nightly)
            for event, cut in (
                (partition(1, lasting=LONG, plane="controller"), {(1, 2), (2, 1), (1, 3), (3, 1)}),
                (partition([[1], [2]], lasting=LONG), {(1, 2), (2, 1)}),
                (partition("1,2", lasting=LONG), {(1, 3), (3, 1), (2, 3), (3, 2)}),
                (partition(1, lasting=LONG, one_way="out"), {(1, 2), (2, 1), (1, 3), (3, 1)}),
                (partition(1, lasting=LONG, ports=[9092]), {(1, 2), (2, 1), (1, 3), (3, 1)}),
            )
        ),
    ],
    ids=["isolate", "controller", "groups", "set", "one-way", "ports"],
)
def test_peers_do_not_reach_each_other(
    cluster: DockerCluster, topic: str, event: Event, cut: set[tuple[int, int]]
) -> None:
    pairs = {(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b}
    with Injection(cluster, event, topic=topic):
        # On a busy machine a connection that passes may take as long as one that is cut.
        assert eventually(lambda: {pair for pair in pairs if not connects(cluster, *pair)} == cut)
        assert eventually(lambda: all(map(cluster.answers, cluster.brokers))), "clients are not cut off"
    assert eventually(lambda: all(connects(cluster, *pair) for pair in pairs))
    lifecycle.wait_settled(cluster)


def test_halves_and_bridge(cluster: DockerCluster, topic: str) -> None:
    pairs = [(1, 2), (1, 3), (2, 3)]
    with Injection(cluster, halves(lasting=LONG), topic=topic):
        assert eventually(lambda: sum(not connects(cluster, *pair) for pair in pairs) == 2)
    lifecycle.wait_settled(cluster)
    with Injection(cluster, bridge(lasting=LONG), topic=topic):
        assert eventually(lambda: sum(not connects(cluster, *pair) for pair in pairs) == 1)
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize(
    "way", [None, *(pytest.param(way, marks=pytest.mark.nightly) for way in ("in", "out"))]
)
def test_clients_do_not_reach_a_node_that_its_peers_reach(
    cluster: DockerCluster, topic: str, way: Any
) -> None:
    with Injection(cluster, cut_clients(2, lasting=LONG, one_way=way), topic=topic):
        assert not cluster.answers(2)
        assert eventually(lambda: connects(cluster, 1, 2))
        assert eventually(lambda: 2 in metadata_views.unfenced(cluster.brokers[1]))
    assert eventually(lambda: cluster.answers(2))


def test_packets_are_lost(cluster: DockerCluster, topic: str) -> None:
    def failures() -> int:
        tries = "for i in $(seq 20); do timeout 0.4 bash -c '</dev/tcp/{}/9092' && echo ok & done; wait"
        _, output = cluster.nodes[1].shell(tries.format(cluster.nodes[2].addresses[0]), timeout=15)
        return 20 - output.count("ok")

    # On a busy machine a connection takes longer than that without any loss.
    assert eventually(lambda: failures() == 0)
    with Injection(cluster, loss(2, lasting=LONG, percent=50), topic=topic) as injection:
        assert 25 < injection.injected["evidence"]["percent"] < 75
        assert eventually(lambda: failures() > 0)
    assert injection.rows["heal"]["value"]["evidence"]["lost"] == 0
    assert eventually(lambda: failures() == 0)
    lifecycle.wait_settled(cluster)


def test_a_tenth_of_the_loss_that_was_asked_for_is_not_proved(
    cluster: DockerCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loss, "resource", filtered("loss", max, lambda percent: loss_rules(percent / 10)))
    evidence = unproved(Injection(cluster, loss(2, lasting=LONG, percent=50), topic=topic))
    assert evidence["lost"] > 0
    assert evidence["percent"] < 25
    lifecycle.wait_settled(cluster)


def test_connections_are_reset(cluster: DockerCluster, topic: str) -> None:
    """Those that talk meanwhile: a connection that its program closes just then is gone without a reset."""
    ended = threading.Event()
    with ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(3))
        connections = [stack.enter_context(Connection(cluster.brokers[2], timeout=LIMIT)) for _ in range(3)]
        errors = [threads.submit(error_of, connection, ended) for connection in connections]
        stack.callback(ended.set)
        with Injection(cluster, reset(2), topic=topic) as injection:
            evidence = injection.injected["evidence"]
    assert [type(error.result()) for error in errors] == [ConnectionResetError] * 3
    assert evidence["connections"] >= 3
    assert evidence["left_and_not_silent"] == 0
    assert evidence["resets"] > 0
    lifecycle.wait_settled(cluster)


def error_of(connection: Connection, ended: threading.Event) -> OSError | None:
    """What ends a connection on which a broker is asked for its versions until the event is set."""
    try:
        while not ended.is_set():
            connection.ask(ApiVersionsRequest(version=0))
    except OSError as error:
        return error
    return None


def test_connections_that_go_on_are_no_reset(
    cluster: DockerCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_rules = COMMAND.replace(
        shlex.quote(RESET_RULES), shlex.quote(table(RESET_TABLE, [chain("input", [])]))
    )
    assert without_rules != COMMAND
    monkeypatch.setattr("nemesis.faults.reset.COMMAND", without_rules.replace("ss -Ktn", "ss -tn"))
    evidence = unproved(Injection(cluster, reset(2), topic=topic))
    assert evidence["left_and_not_silent"] > 0 or evidence["resets"] == 0
    assert evidence["left"] > 0


def test_packets_that_are_as_usual_show_no_discipline(cluster: DockerCluster) -> None:
    """Whether or not a discipline is listed. This needs no kernel with netem."""
    context: Any = SimpleNamespace(node=cluster.nodes[1])
    for fault in (Delay(), Duplicate(), Reorder()):
        has_shown, measured = fault.shows(context, cluster.nodes[2], fault.shape)
        assert not has_shown, (fault.name, measured)
        is_as_usual, measured = fault.shows(context, cluster.nodes[2], {})
        assert is_as_usual, (fault.name, measured)


def test_a_node_sends_slowly(cluster: DockerCluster, topic: str) -> None:
    assert produce(cluster, topic, count=1, size=200_000) == 1
    leader = cluster.leader(topic, 0)

    def fetch() -> float:
        consumer = KafkaConsumer(
            topic,
            **access([cluster.brokers[leader]]),
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=1 << 20,
        )
        try:
            begun = time.monotonic()
            while not consumer.poll(timeout_ms=200):
                assert time.monotonic() - begun < 60
            return time.monotonic() - begun
        finally:
            consumer.close()

    with Injection(cluster, bandwidth("leader", lasting=LONG, kbit=400), topic=topic):
        slow = fetch()
    fast = min(fetch() for _ in range(3))
    assert slow > 3 * fast
    lifecycle.wait_settled(cluster)


def test_names_are_not_found(cluster: DockerCluster, topic: str) -> None:

    def finds(node: int) -> bool:
        return cluster.nodes[node].shell("timeout 1 getent hosts kafka2")[0] == 0

    assert eventually(lambda: finds(1))
    with Injection(cluster, dns(1, lasting=LONG), topic=topic):
        assert not finds(1)
        assert eventually(lambda: finds(3))
    assert eventually(lambda: finds(1))


@pytest.mark.parametrize("event", [
    delay(1, lasting=LONG), duplicate(1, lasting=LONG), reorder(1, lasting=LONG),
], ids=["delay", "duplicate", "reorder"])  # fmt: skip
def test_delayed_duplicated_and_reordered_packets(
    engine: Any, cluster: DockerCluster, topic: str, event: Event
) -> None:
    able, _ = cluster.nodes[1].shell("tc qdisc add dev lo root netem delay 1ms && tc qdisc del dev lo root")
    if able:
        with pytest.raises(CapabilityError, match=f"{event.fault.name}: it needs network emulation"):
            require_capabilities(engine, [event.fault.name])
        pytest.skip(f"{event.fault.name} is refused: it needs a kernel with netem, and this one has none")
    with Injection(cluster, event, topic=topic):
        assert "netem" in cluster.nodes[1].shell("tc qdisc show dev eth0")[1]
    assert "netem" not in cluster.nodes[1].shell("tc qdisc show dev eth0")[1]
