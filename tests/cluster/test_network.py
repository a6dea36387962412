"""The real packet filter: the nemesis cuts three containers without brokers off from each other."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from nemesis.cluster import State
from nemesis.effects.network import Network, NetworkError
from nemesis.effects.nft import Cut, Rule
from nemesis.effects.probe import Link, probe
from nemesis.event import Event
from nemesis.run import Nemesis
from nemesis.schedule import Schedule
from nemesis.tasks import wait_until
from pytest_kafkacheck import isolate, partition
from pytest_kafkacheck.cluster.docker.containers import execute
from pytest_kafkacheck.cluster.docker.images import agent_image

pytestmark = pytest.mark.cluster

LISTEN = """
use Socket;
for $port (9092, 9093) {
  socket($socket{$port}, AF_INET6, SOCK_STREAM, 0);
  setsockopt($socket{$port}, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  bind($socket{$port}, pack_sockaddr_in6($port, Socket::IN6ADDR_ANY)) or die $!;
  listen($socket{$port}, 50) or die $!;
}
sleep
"""


class Container:
    """A node with a real network, and listeners instead of a broker."""

    probe_port = 9093

    def __init__(self, number: int, container: Any, network: str) -> None:
        container.reload()
        settings = container.attrs["NetworkSettings"]["Networks"][network]
        self.id = number
        self.mac: str = settings["MacAddress"]
        self.addresses: tuple[str, ...] = (settings["IPAddress"], settings["GlobalIPv6Address"])
        self._container = container

    def state(self) -> State:
        return "running"

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        # Container.exec_run loses output on a busy machine.
        bounded = ["timeout", str(timeout), "bash", "-c", command]
        return execute(self._container.client.api, self._container.id, bounded, timeout=timeout + 10)

    look = shell


class Containers:
    """The part of a cluster that partitions need."""

    planes: Mapping[str, frozenset[int]] = {"replication": frozenset({9092}), "controller": frozenset({9093})}

    def __init__(self, nodes: dict[int, Container]) -> None:
        self.nodes = nodes

    def quick(self) -> Any:
        """Partitions name their nodes, so only the end of the looks is asked for."""
        return SimpleNamespace(close=lambda: None)

    def links(self, source: int, destination: int) -> list[Link]:
        """Connections over both protocols to both ports."""
        return [
            Link(source, destination, address, port)
            for address in self.nodes[destination].addresses
            for port in (9092, 9093)
        ]

    def answers(self, source: int, destination: int) -> dict[int, set[str]]:
        """Results by port, over both protocols."""
        found: dict[int, set[str]] = {}
        for answer in probe(self.nodes, self.links(source, destination)):
            found.setdefault(answer.link.port, set()).add(answer.text)
        return found


@pytest.fixture(scope="module")
def containers(engine: Any) -> Iterator[Containers]:
    name = f"kafkacheck-test-{secrets.token_hex(4)}"
    labels = {"kafkacheck.test": "nemesis"}
    pool = {"Config": [{"Subnet": f"fd00:{secrets.token_hex(2)}:{secrets.token_hex(2)}::/64"}]}
    network = engine.api.create_network(name, driver="bridge", enable_ipv6=True, ipam=pool, labels=labels)[
        "Id"
    ]
    made = []
    try:
        for number in (1, 2, 3):
            made.append(
                engine.containers.run(
                    agent_image(),
                    ["perl", "-e", LISTEN],
                    name=f"{name}-{number}",
                    network=name,
                    cap_add=["NET_ADMIN"],
                    labels=labels,
                    init=True,
                    detach=True,
                )
            )
        containers = Containers({n: Container(n, each, name) for n, each in enumerate(made, start=1)})
        assert wait_until(
            lambda: all(containers.answers(*pair) == OPEN for pair in [(1, 2), (2, 3), (3, 1)]), limit=20
        )
        yield containers
    finally:
        for each in made:
            each.remove(force=True)
        engine.api.remove_network(network)


OPEN = {9092: {"open"}, 9093: {"open"}}
SILENT = {9092: {"silent"}, 9093: {"silent"}}


def test_a_cut_drops_packets_of_both_protocols_counts_them_and_ends_with_the_heal(
    containers: Containers,
) -> None:
    assert all(":" in node.addresses[1] for node in containers.nodes.values())
    assert containers.answers(1, 2) == OPEN
    network = Network(containers.nodes)  # type: ignore[arg-type]
    try:
        network.cut("a", [Cut(2, 1)])
        assert containers.answers(1, 2) == SILENT
        assert containers.answers(2, 1) == SILENT, "answers of 1 do not arrive either"
        assert containers.answers(3, 2) == OPEN
        count = network.dropped([2])[Rule(2, 1, None)]
        assert count >= 8, "four tries in either direction"
        network.cut("b", [Cut(2, 3, frozenset({9092}))])
        assert network.dropped([2])[Rule(2, 1, None)] >= count, "counted before the rules were made anew"
        assert containers.answers(3, 2) == containers.answers(2, 3) == {9092: {"silent"}, 9093: {"open"}}
        network.heal("a")
        assert containers.answers(1, 2) == OPEN
        assert containers.answers(3, 2) == {9092: {"silent"}, 9093: {"open"}}
    finally:
        network.heal_all()
    assert containers.answers(3, 2) == OPEN
    for node in containers.nodes.values():
        assert node.shell("nft list tables inet | grep -c kafkacheck")[1].strip() == "0"


def test_healing_does_not_touch_tables_of_other_programs(containers: Containers) -> None:
    before = [node.shell("nft list ruleset 2>/dev/null")[1] for node in containers.nodes.values()]
    assert all(before), "Docker's own table for name resolution was expected"
    network = Network(containers.nodes)  # type: ignore[arg-type]
    network.cut("a", [Cut(1, 2), Cut(2, 1)])
    network.heal_all()
    network.heal_all()
    assert [node.shell("nft list ruleset 2>/dev/null")[1] for node in containers.nodes.values()] == before


def play(containers: Containers, *events: Event) -> dict[tuple[str, str], dict[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    cluster: Any = containers
    Nemesis(Schedule.of(events), cluster, topic="log", seed=0, record=rows.append).run(threading.Event())
    assert [row["error"] for row in rows] == [None] * len(rows)
    return {(row["value"]["event"], row["value"]["stage"]): row["value"] for row in rows}


@pytest.mark.nightly
def test_the_nemesis_verifies_overlapping_partitions(containers: Containers) -> None:
    values = play(
        containers,
        # A proof takes a second on a quiet machine. One that has not ended when its heal is due proves nothing.
        partition(2, plane="replication", at=0, lasting=9),
        isolate(2, at=4, lasting=9),
        partition([[1], [2, 3]], at=5, lasting=10),
    )
    assert {key: value["evidence"] for key, value in values.items() if not value["effective"]} == {}
    dropped = values["partition-0", "inject"]["evidence"]["dropped"]
    assert min(dropped.values()) > 0
    assert set(dropped) == {"1 to 2", "2 to 1", "2 to 3", "3 to 2"}
    assert containers.answers(1, 2) == containers.answers(2, 3) == OPEN


def test_a_missing_listener_is_not_taken_for_a_cut(containers: Containers) -> None:
    """A dead broker must not be reported as isolated."""
    (answer,) = probe(containers.nodes, [Link(1, 2, containers.nodes[2].addresses[0], 9)])  # type: ignore[arg-type]
    assert answer.text == "refused"


def test_a_cut_without_net_admin_is_an_error(engine: Any, containers: Containers) -> None:
    powerless = engine.containers.run(
        agent_image(), ["sleep", "60"], labels={"kafkacheck.test": "nemesis"}, init=True, detach=True
    )
    try:
        node: Any = Container(1, powerless, "bridge")
        network = Network({1: node, 2: containers.nodes[2]})  # type: ignore[dict-item]
        with pytest.raises(NetworkError, match=r"node 1: nft exited with status 1: .*not permitted"):
            network.cut("a", [Cut(1, 2)])
    finally:
        powerless.remove(force=True)
