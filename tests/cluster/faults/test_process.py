"""Faults of processes, on a real cluster."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from kafka.protocol.admin import DescribeClusterRequest

from nemesis.event import Event
from pytest_kafkacheck import (
    corrupt,
    crash_loop,
    kill,
    oom,
    pause,
    reset,
    restart,
    rolling_restart,
    stop,
    upgrade,
    wipe,
)
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.nodes import health
from tests.support.fault_run import LONG, Injection, eventually, produce, unproved
from workloads.clients.connection import Connection

pytestmark = pytest.mark.cluster

ANY_REQUEST = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)


def is_broken(connection: Connection) -> bool:
    try:
        connection.ask(ANY_REQUEST)
    except OSError:
        return True
    return False


@pytest.mark.parametrize(
    "event",
    [
        kill("leader", lasting=LONG),
        stop("leader", lasting=LONG),
        pause("leader", lasting=LONG),
        oom("leader", lasting=LONG),
        corrupt("leader", lasting=LONG),
        wipe("leader", lasting=LONG),
        *(
            # Other tests that run by day take down several brokers, and run a crash loop.
            pytest.param(event, marks=pytest.mark.nightly)
            for event in (
                kill("2,3", lasting=LONG),
                corrupt("leader", lasting=LONG, how="flip"),
                crash_loop("leader", lasting=LONG, every=300),
            )
        ),
    ],
    ids=lambda event: (
        f"{event.fault.name}-{event.target}-{'-'.join(map(str, event.fault.options().values()))}"
    ),
)
def test_a_broker_that_is_down_does_not_answer_clients(
    cluster: DockerCluster, topic: str, event: Event
) -> None:
    assert produce(cluster, topic) == 50
    with Injection(cluster, event, topic=topic) as injection:
        assert not any(cluster.answers(node) for node in injection.nodes)
        others = [node for node in cluster.brokers if node not in injection.nodes]
        assert eventually(lambda: all(cluster.answers(node) for node in others))
    assert eventually(lambda: all(cluster.answers(node) for node in injection.nodes))
    lifecycle.wait_settled(cluster)


def test_a_crash_loop_starts_the_broker_repeatedly(cluster: DockerCluster, topic: str) -> None:
    node, starts = cluster.nodes[3], set()
    node.kill()
    node.start()
    evidence = unproved(Injection(cluster, kill(3, at=1, lasting=LONG), topic=topic))
    assert evidence["served_before"] is False, "it boots"
    with Injection(cluster, crash_loop(3, lasting=LONG, every=0.5), topic=topic):

        def restarted() -> bool:
            starts.add(cluster.nodes[3].incarnation())
            return len(starts) > 3

        assert eventually(restarted)
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize(
    "event",
    [
        restart("leader"),
        pytest.param(restart("leader", clean=False), marks=pytest.mark.nightly),
        pytest.param(
            reset("leader"), marks=pytest.mark.nightly
        ),  # by day, test_network.py resets connections
    ],
    ids=["restart", "restart-unclean", "reset"],
)
def test_connections_of_clients_break(cluster: DockerCluster, topic: str, event: Event) -> None:
    leader = cluster.leader(topic, 0)
    assert leader is not None
    connection = Connection(cluster.brokers[leader], timeout=5)
    with Injection(cluster, event, topic=topic) as injection:
        assert injection.nodes == [leader]
    assert eventually(lambda: is_broken(connection))  # the engine's proxy learns of it a moment later
    connection.close()
    assert eventually(lambda: cluster.answers(leader))
    lifecycle.wait_settled(cluster)


def test_a_rolling_restart_takes_down_one_broker_at_a_time(cluster: DockerCluster, topic: str) -> None:
    before = {node.id: node.incarnation() for node in cluster.nodes.values()}
    down: set[tuple[int, ...]] = set()
    done = threading.Event()

    def watch() -> None:
        """Of several silent brokers, the first one may have come back before the last one went, or have been slow:
        they are down together if they are silent once more, asked in reverse."""
        while not done.is_set():
            silent = [node for node in cluster.brokers if not cluster.answers(node)]
            if len(silent) > 1:
                silent = [node for node in reversed(silent) if not cluster.answers(node)]
            down.add(tuple(silent))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with Injection(cluster, rolling_restart(), topic=topic):
            pass
    finally:
        done.set()
        watcher.join()
    assert all(node.incarnation() != before[node.id] for node in cluster.nodes.values())
    assert max(map(len, down)) == 1, down
    lifecycle.wait_settled(cluster)


def test_a_broker_moves_to_another_release_and_back(
    cluster: DockerCluster, topic: str, tmp_path: Path
) -> None:
    node, own = cluster.nodes[2], cluster.spec.version
    node.limit_cpu(1.5)
    for release in ("4.4.0", own):
        with Injection(cluster, upgrade(2, to=release), topic=topic) as injection:
            seen = injection.injected["evidence"]["restarted"]["2"]
            assert (seen["release"], seen["serving"], seen["ended_by_itself"]) == (release, True, True)
            assert f"kafka_2.13-{release}.jar" in node.execute("ls /opt/kafka/libs")[1]
            assert node.cpu_limit() == 1.5, "a fault may limit it meanwhile"
        lifecycle.wait_settled(cluster)
        assert (f"kafka2: it runs Kafka {release}" in health.of_node(cluster, node)) == (release != own)
        assert cluster.healthy() is False, "its processor is limited"
    node.limit_cpu(None)
    assert cluster.healthy()
    cluster.save_logs(tmp_path)
    started = re.findall(r"Kafka version: (\S+)", (tmp_path / "kafka2.log").read_text())
    assert started[-3:] == [own, "4.4.0", own], "the log has what all processes of the node have printed"


@pytest.mark.nightly
def test_all_brokers_are_paused_at_once(cluster: DockerCluster, topic: str) -> None:
    with Injection(cluster, pause("all", lasting=LONG), topic=topic) as injection:
        assert sorted(injection.nodes) == [1, 2, 3]
        assert set(injection.injected["evidence"]["by_node"]) == {"1", "2", "3"}
        assert not any(cluster.answers(node) for node in (1, 2, 3))
    lifecycle.wait_settled(cluster)
