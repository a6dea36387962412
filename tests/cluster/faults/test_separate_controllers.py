"""Faults of four brokers with a separate controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nemesis.effects.probe import Link, probe
from pytest_kafkacheck import clock, kill, majority_ring, remove_broker
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.lifecycle import DockerMembership
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.fault_run import LONG, Injection, unproved
from tests.support.real_cluster import own

# By day, test_kafka.py adds and removes brokers, and ../test_network.py verifies overlapping partitions.
pytestmark = [pytest.mark.cluster, pytest.mark.nightly]


@pytest.fixture(scope="module")
def four(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    """Four brokers and a controller of its own."""
    spec, logs = ClusterSpec(brokers=4, controllers=1), tmp_path_factory.mktemp("four")
    with running(engine, spec, run=own("four"), logs=logs) as cluster:
        topics.create(cluster.brokers, "t", assignment={0: [1, 2, 3]})
        yield cluster


def test_each_broker_of_a_majority_ring_reaches_a_majority(four: DockerCluster) -> None:
    lifecycle.wait_settled(four)
    brokers = sorted(four.brokers)
    with Injection(four, majority_ring(lasting=LONG), topic="t"):
        deaf = {
            node: [
                peer
                for peer in brokers
                if peer != node
                and not all(
                    answer.reached
                    for answer in probe(four.nodes, [Link(node, peer, four.nodes[peer].addresses[0], 9092)])
                )
            ]
            for node in brokers
        }
        assert all(len(peers) == 1 for peers in deaf.values()), deaf
        assert len({tuple(peers) for peers in deaf.values()}) == 4
    lifecycle.wait_settled(four)


def test_a_controller_states_its_time_in_a_thread_dump(four: DockerCluster) -> None:
    with Injection(four, clock("controllers", lasting=LONG, offset=-3600), topic="t") as injection:
        evidence = injection.injected["evidence"]
        assert evidence["stated_in"] == "head of a thread dump"
        assert evidence["ahead"][0] < -3600 < evidence["ahead"][1]
    lifecycle.rolling_restart(four, nodes=[101])


def test_a_broker_that_the_controller_still_has_was_not_removed(
    four: DockerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DockerMembership, "remove_broker", lambda *_: None)
    monkeypatch.setattr(DockerMembership, "add_broker", lambda _: 2)
    unproved(Injection(four, remove_broker(2, lasting=2), topic="t"))
    assert four.kafka.registration(2) == "active"


def test_a_broker_is_removed_and_another_one_added(four: DockerCluster) -> None:
    with four.fault(remove_broker("leader:t-0")) as fault:
        (gone,) = fault.nodes
        assert fault.evidence["controller_says"] == "unregistered"
        assert all(gone not in metadata_views.unfenced(address) for address in four.brokers.values())
        assert four.leader("t", 0) not in (None, gone)
    assert len(four.brokers) == 4
    assert metadata_views.unfenced(next(iter(four.brokers.values()))) == set(four.brokers)
    assert four.controllers == (101,)
    with Injection(four, kill("controllers", lasting=LONG), topic="t") as injection:
        assert injection.nodes == [101]
        assert four.nodes[101].state() == "stopped"
    lifecycle.wait_settled(four)
