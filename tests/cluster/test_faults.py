"""Every fault on a real cluster: seen from outside while it is at work, and no more when it is healed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.protocol.admin import DescribeClusterRequest

import pytest_kafkacheck as api
from nemesis.effects.lease_table import LEASE
from nemesis.effects.network import Network
from nemesis.effects.nft import Cut
from nemesis.effects.probe import Link, probe
from nemesis.event import Event
from nemesis.no_clients import NoClients
from nemesis.triggers import Trigger
from nemesis.wait import wait_until
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.clients import WorkerClients
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.setup.capabilities import missing_capabilities
from tests.support.fault_run import LONG, Play
from tests.support.real_cluster import own
from workloads.append_log import AppendLog
from workloads.clients.connection import Connection
from workloads.clients.kafka_python import access
from workloads.workers.pool import WorkerPool
from workloads.workload import Topic

pytestmark = pytest.mark.cluster

ANY = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)

KILL = "kill -9 $(grep -lz 'heal()' /proc/[0-9]*/cmdline | grep -v self | cut -d/ -f3 | grep -vx $$)"
"""Strikes the agents of a node, in its pod."""

SEEN = 20.0
"""Seconds in which an effect must show, and be gone."""


def seen(condition: Callable[[], bool]) -> bool:
    return wait_until(condition, limit=SEEN)


@pytest.fixture
def topic(cluster: DockerCluster) -> Iterator[str]:
    lifecycle.wait_settled(cluster)
    name = own("faults")
    topics.create(cluster.brokers, name, assignment={0: [1, 2, 3]})
    # A client that asks a broker that has not heard of it yet would not ask again for minutes.
    assert seen(lambda: cluster.kafka.partitions(name) == 1)
    lifecycle.wait_settled(cluster)
    yield name
    topics.delete(cluster.brokers, name)


def produce(
    cluster: DockerCluster, topic: str, *, count: int = 50, size: int = 100, acks: Any = "all"
) -> int:
    """How many of so many records were acknowledged within some seconds."""
    producer = KafkaProducer(
        **access(cluster.brokers.values()), acks=acks, retries=0, request_timeout_ms=4000,
        delivery_timeout_ms=5000, max_block_ms=5000, enable_idempotence=False, max_request_size=2_000_000,
    )  # fmt: skip
    fine = 0
    try:
        for sent in [producer.send(topic, bytes(size), partition=0) for _ in range(count)]:
            with contextlib.suppress(KafkaError):
                sent.get(timeout=6)
                fine += 1
    except KafkaError:
        pass
    finally:
        with contextlib.suppress(KafkaError):
            producer.close(timeout=1)
    return fine


def broken(connection: Connection) -> bool:
    try:
        connection.ask(ANY)
    except OSError:
        return True
    return False


def connects(cluster: DockerCluster, source: int, destination: int) -> bool:
    """Whether a peer reaches another on both planes."""
    return all(answer.reached for answer in probe(cluster.nodes, links(cluster, source, destination)))


def links(cluster: DockerCluster, source: int, destination: int) -> list[Link]:
    address = cluster.nodes[destination].addresses[0]
    return [Link(source, destination, address, port) for port in (9092, 9093)]


@pytest.mark.parametrize(
    "event",
    [
        api.kill("leader", lasting=LONG),
        api.stop("leader", lasting=LONG),
        api.pause("leader", lasting=LONG),
        api.oom("leader", lasting=LONG),
        api.kill("2,3", lasting=LONG),
        api.corrupt("leader", lasting=LONG),
        api.corrupt("leader", lasting=LONG, how="flip"),
        api.wipe("leader", lasting=LONG),
        api.crash_loop("leader", lasting=LONG, every=300),
    ],
    ids=lambda event: (
        f"{event.fault.name}-{event.target}-{'-'.join(map(str, event.fault.options().values()))}"
    ),
)
def test_a_broker_that_is_down_answers_nobody(cluster: DockerCluster, topic: str, event: Event) -> None:
    assert produce(cluster, topic) == 50
    with Play(cluster, event, topic=topic) as play:
        assert not any(cluster.answers(node) for node in play.nodes)
        others = [node for node in cluster.brokers if node not in play.nodes]
        assert all(cluster.answers(node) for node in others)
    assert seen(lambda: all(cluster.answers(node) for node in play.nodes))
    lifecycle.wait_settled(cluster)


def test_rules_of_an_agent_that_is_killed_lapse(cluster: DockerCluster, topic: str) -> None:
    """Nobody deletes them, and packets pass all the same."""
    deaf = api.partition([[3], [1, 2]], one_way="in", lasting=LONG)  # rules on that node only
    play = Play(cluster, deaf, topic=topic)
    play.__enter__()
    try:
        assert not connects(cluster, 1, 3)
        killed = cluster.client.api.exec_create(cluster.nodes[3].pod, ["bash", "-c", KILL])["Id"]
        cluster.client.api.exec_start(killed)
        # Asked from the other side only: a command in the node's own network would start another agent.
        assert wait_until(lambda: probe(cluster.nodes, links(cluster, 1, 3))[0].reached, limit=LEASE + SEEN)
    finally:
        play.finish()
    heal = play.rows["heal"]["value"]
    assert heal["effective"] is False
    assert "lapsed" in heal["evidence"]["ended_early"]
    assert "heal-all" not in play.rows, "the heal itself deleted them"
    lifecycle.wait_settled(cluster)


def test_crash_loop_goes_on(cluster: DockerCluster, topic: str) -> None:
    starts = set()
    with Play(cluster, api.crash_loop(3, lasting=LONG, every=0.5), topic=topic):

        def restarted() -> bool:
            starts.add(cluster.nodes[3].incarnation())
            return len(starts) > 3

        assert seen(restarted)
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize(
    "event",
    [api.restart("leader"), api.restart("leader", clean=False), api.reset("leader")],
    ids=["restart", "restart-unclean", "reset"],
)
def test_connections_of_clients_break(cluster: DockerCluster, topic: str, event: Event) -> None:
    leader = cluster.leader(topic, 0)
    assert leader is not None
    connection = Connection(cluster.brokers[leader], timeout=5)
    with Play(cluster, event, topic=topic) as play:
        assert play.nodes == [leader]
    assert seen(lambda: broken(connection))  # the engine's proxy learns of it a moment later
    connection.close()
    assert seen(lambda: cluster.answers(leader))
    lifecycle.wait_settled(cluster)


def test_rolling_restart_takes_one_after_another(cluster: DockerCluster, topic: str) -> None:
    before = {node.id: node.incarnation() for node in cluster.nodes.values()}
    down: set[tuple[int, ...]] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            down.add(tuple(node for node in cluster.brokers if not cluster.answers(node)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with Play(cluster, api.rolling_restart(), topic=topic):
            pass
    finally:
        done.set()
        watcher.join()
    assert all(node.incarnation() != before[node.id] for node in cluster.nodes.values())
    assert max(map(len, down)) == 1, down
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize(
    ("event", "cut"),
    [
        (api.isolate(1, lasting=LONG), {(1, 2), (2, 1), (1, 3), (3, 1)}),
        (api.partition([[1], [2]], lasting=LONG), {(1, 2), (2, 1)}),
        (api.partition("1,2", lasting=LONG), {(1, 3), (3, 1), (2, 3), (3, 2)}),
        (api.partition(1, lasting=LONG, one_way="out"), {(1, 2), (2, 1), (1, 3), (3, 1)}),
        (api.partition(1, lasting=LONG, plane="controller"), {(1, 2), (2, 1), (1, 3), (3, 1)}),
        (api.partition(1, lasting=LONG, ports=[9092]), {(1, 2), (2, 1), (1, 3), (3, 1)}),
    ],
    ids=["isolate", "groups", "set", "one-way", "controller", "ports"],
)
def test_peers_do_not_hear_each_other(
    cluster: DockerCluster, topic: str, event: Event, cut: set[tuple[int, int]]
) -> None:
    pairs = {(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b}
    with Play(cluster, event, topic=topic):
        assert {pair for pair in pairs if not connects(cluster, *pair)} == cut
        assert all(cluster.answers(node) for node in cluster.brokers), "clients are not meant"
    assert all(connects(cluster, *pair) for pair in pairs)
    lifecycle.wait_settled(cluster)


def test_halves_and_bridge(cluster: DockerCluster, topic: str) -> None:
    pairs = [(1, 2), (1, 3), (2, 3)]
    with Play(cluster, api.halves(lasting=LONG), topic=topic):
        assert sum(not connects(cluster, *pair) for pair in pairs) == 2
    lifecycle.wait_settled(cluster)
    with Play(cluster, api.bridge(lasting=LONG), topic=topic):
        assert sum(not connects(cluster, *pair) for pair in pairs) == 1
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize("way", [None, "in", "out"])
def test_clients_do_not_reach_a_node_that_its_peers_hear(
    cluster: DockerCluster, topic: str, way: Any
) -> None:
    with Play(cluster, api.cut_clients(2, lasting=LONG, one_way=way), topic=topic):
        assert not cluster.answers(2)
        assert connects(cluster, 1, 2)
        assert 2 in metadata_views.unfenced(cluster.brokers[1])
    assert seen(lambda: cluster.answers(2))


def test_lost_packets(cluster: DockerCluster, topic: str) -> None:
    def failures() -> int:
        tries = "for i in $(seq 20); do timeout 0.4 bash -c '</dev/tcp/{}/9092' && echo ok & done; wait"
        _, output = cluster.nodes[1].shell(tries.format(cluster.nodes[2].addresses[0]), timeout=15)
        return 20 - output.count("ok")

    assert failures() == 0
    with Play(cluster, api.loss(2, lasting=LONG, percent=50), topic=topic):
        assert seen(lambda: failures() > 0)
    assert failures() == 0
    lifecycle.wait_settled(cluster)


def test_a_narrow_way_out(cluster: DockerCluster, topic: str) -> None:
    assert produce(cluster, topic, count=1, size=300_000) == 1
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

    with Play(cluster, api.bandwidth("leader", lasting=LONG, kbit=400), topic=topic):
        slow = fetch()
    fast = min(fetch() for _ in range(3))
    assert slow > 3 * fast
    lifecycle.wait_settled(cluster)


def test_names_are_not_found(cluster: DockerCluster, topic: str) -> None:
    ask = "timeout 1 getent hosts kafka2"
    assert cluster.nodes[1].shell(ask)[0] == 0
    with Play(cluster, api.dns(1, lasting=LONG), topic=topic):
        assert cluster.nodes[1].shell(ask)[0] != 0
        assert cluster.nodes[3].shell(ask)[0] == 0
    assert cluster.nodes[1].shell(ask)[0] == 0


def test_little_of_the_processors(cluster: DockerCluster, topic: str) -> None:
    def answer() -> float:
        begun = time.monotonic()
        for _ in range(5):
            cluster.answers(2)
        return time.monotonic() - begun

    with Play(cluster, api.cpu(2, lasting=LONG, cores=0.02), topic=topic):
        slow = answer()
        assert cluster.nodes[2].cpu()[0] == pytest.approx(0.02)
    assert seen(lambda: 3 * answer() < slow)
    assert cluster.nodes[2].cpu()[0] is None
    lifecycle.wait_settled(cluster)


def test_little_memory(cluster: DockerCluster, topic: str) -> None:
    def allowed() -> int:
        return int(cluster.client.api.inspect_container(cluster.nodes[2].container)["HostConfig"]["Memory"])

    with Play(cluster, api.memory(2, lasting=LONG), topic=topic):
        small = allowed()
        assert small < 2 << 30
        assert cluster.answers(2)
    assert allowed() > small
    lifecycle.wait_settled(cluster)


def test_preferred_election(cluster: DockerCluster, topic: str) -> None:
    with Play(cluster, api.kill(1, lasting=LONG), topic=topic):
        assert seen(lambda: cluster.leader(topic, 0) in (2, 3))
    lifecycle.wait_settled(cluster)
    assert cluster.leader(topic, 0) in (2, 3), "leadership came back by itself"
    with Play(cluster, api.elect(), topic=topic):
        pass
    assert cluster.leader(topic, 0) == 1


def test_unclean_election_of_a_replica_that_lacks_records(cluster: DockerCluster, topic: str) -> None:
    network = Network(cluster.nodes)
    ports = cluster.planes["replication"]
    try:
        network.cut("test", [Cut(1, 2, ports), Cut(2, 1, ports), Cut(1, 3, ports), Cut(3, 1, ports)])
        assert seen(lambda: produce(cluster, topic, acks=1, count=10) == 10 and cluster.isr(topic, 0) == (1,))
        end = cluster.kafka.ends(topic, 0)[1]
        with Play(cluster, api.kill(1, lasting=LONG), topic=topic):
            assert seen(lambda: cluster.leader(topic, 0) is None)
            with Play(cluster, api.elect(unclean=True), topic=topic):
                pass
            assert cluster.leader(topic, 0) in (2, 3)
            assert seen(lambda: cluster.kafka.ends(topic, 0)[1] < end)
    finally:
        network.heal_all()
    lifecycle.wait_settled(cluster)


def test_leadership_goes_round(cluster: DockerCluster, topic: str) -> None:
    leaders = set()
    with Play(cluster, api.leader_storm(lasting=LONG, every=0.3), topic=topic):
        assert seen(lambda: bool(leaders.add(cluster.leader(topic, 0))) or leaders >= {1, 2, 3})
    assert cluster.replicas(topic, 0) == (1, 2, 3)
    lifecycle.wait_settled(cluster)


def test_a_partition_moves_and_comes_back(cluster: DockerCluster, topic: str) -> None:
    with Play(cluster, api.reassign(lasting=LONG), topic=topic):
        assert cluster.replicas(topic, 0) == (2, 3, 1)
    assert cluster.replicas(topic, 0) == (1, 2, 3)


def test_a_broker_comes_and_goes(cluster: DockerCluster, topic: str) -> None:
    with Play(cluster, api.add_broker(lasting=LONG), topic=topic):
        assert metadata_views.unfenced(cluster.brokers[1]) == {1, 2, 3, 4}
    assert seen(lambda: metadata_views.unfenced(cluster.brokers[1]) == {1, 2, 3})


def test_a_topic_is_made_anew(cluster: DockerCluster, topic: str) -> None:
    assert produce(cluster, topic) == 50
    with Play(cluster, api.recreate_topic(), topic=topic):
        pass
    assert seen(lambda: cluster.kafka.ends(topic, 0) == (0, 0))
    assert cluster.replicas(topic, 0) == (1, 2, 3)


def test_more_partitions(cluster: DockerCluster, topic: str) -> None:
    with Play(cluster, api.add_partitions(count=2), topic=topic):
        pass
    assert cluster.kafka.partitions(topic) == 3


def test_records_are_deleted(cluster: DockerCluster, topic: str) -> None:
    assert produce(cluster, topic) == 50
    with Play(cluster, api.delete_records(share=0.4), topic=topic):
        pass
    assert cluster.kafka.ends(topic, 0) == (20, 50)


def test_configuration_for_a_while(cluster: DockerCluster, topic: str) -> None:
    with Play(cluster, api.configure({"max.message.bytes": 200}, lasting=LONG), topic=topic):
        assert seen(lambda: produce(cluster, topic, count=1, size=1000) == 0)
    assert cluster.kafka.topic_config(topic) == {}
    assert seen(lambda: produce(cluster, topic, count=1, size=1000) == 1)
    with Play(cluster, api.configure_broker({"log.cleaner.threads": 2}, 2, lasting=LONG), topic=topic):
        assert cluster.kafka.broker_config(2)["log.cleaner.threads"] == "2"
        assert "log.cleaner.threads" not in cluster.kafka.broker_config(1)
    assert "log.cleaner.threads" not in cluster.kafka.broker_config(2)


def test_a_producer_is_fenced(cluster: DockerCluster, topic: str) -> None:
    name = own("tx")
    producer = KafkaProducer(**access(cluster.brokers.values()), transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"before").get(timeout=10)
    assert cluster.coordinator("transaction", name) in cluster.brokers
    with Play(cluster, api.fence(f"transaction:{name}"), topic=topic):
        pass
    with pytest.raises(KafkaError):
        producer.send(topic, b"after").get(timeout=10)
    producer.close(timeout=1)


def test_a_group_is_rebalanced(cluster: DockerCluster, topic: str) -> None:
    group = own("group")
    consumer = KafkaConsumer(
        topic,
        group_id=group,
        **access(cluster.brokers.values()),
        session_timeout_ms=6000,
        max_poll_interval_ms=10_000,
    )
    revoked: list[object] = []
    done = threading.Event()

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, partitions: object) -> None:
            revoked.append(partitions)

        def on_partitions_assigned(self, assigned: object) -> None: ...

    consumer.subscribe([topic], listener=Listener())

    def consume() -> None:
        while not done.is_set():
            consumer.poll(timeout_ms=100)

    assert seen(lambda: bool(consumer.partitions_for_topic(topic)))
    thread = threading.Thread(target=consume)
    thread.start()
    try:
        assert seen(lambda: cluster.kafka.group(group) == ("Stable", 1))
        assert cluster.coordinator("group", group) in cluster.brokers
        before = len(revoked)
        with Play(cluster, api.rebalance(f"group:{group}"), topic=topic):
            pass
        assert seen(lambda: len(revoked) > before)
    finally:
        done.set()
        thread.join()
        consumer.close()


def test_the_controller_is_deposed(engine: Any, tmp_path: Path) -> None:
    with running(
        engine, ClusterSpec(version="3.9.2", zookeepers=1), run=own("depose"), logs=tmp_path
    ) as cluster:
        topics.create(cluster.brokers, "t", partitions=1, replication_factor=3)
        with Play(cluster, api.delete_controller(), topic="t") as play:
            evidence = play.injected["evidence"]
            assert evidence["epoch"] > evidence["epoch_before"]
        assert cluster.controller() in cluster.brokers
        lifecycle.wait_settled(cluster)


@pytest.fixture
def crew(cluster: DockerCluster, topic: str, tmp_path: Path) -> Iterator[WorkerPool]:
    rows: list[Mapping[str, Any]] = []
    workload = AppendLog(partitions=1, producers=1, readers=1, sessions=0, rate=200)
    with WorkerPool(
        workload.workers(), run="r", home=tmp_path, brokers=cluster.brokers,
        topics=[Topic(name=topic, partitions=1, replication_factor=3)], record=rows.append,
    ) as crew:  # fmt: skip
        crew.go()
        assert seen(lambda: crew.acknowledged() > 0)
        yield crew
        crew.stop()
    events = [row["value"]["event"] for row in rows]
    assert "crashed" not in events, rows


def progress(crew: WorkerPool) -> bool:
    """Whether writes are acknowledged now."""
    before = crew.acknowledged()
    return wait_until(lambda: crew.acknowledged() > before + 10, limit=5)


@pytest.mark.parametrize("fault", [api.kill_client, api.pause_client, api.isolate_client])
def test_a_client_that_does_nothing(
    cluster: DockerCluster, topic: str, crew: WorkerPool, fault: Callable[..., Event]
) -> None:
    clients = WorkerClients(crew)
    assert progress(crew)
    with Play(cluster, fault("producer", lasting=LONG), topic=topic, clients=clients) as play:
        assert play.injected["processes"] == [0]
        end = cluster.kafka.ends(topic, 0)[1]
        assert not progress(crew)
        # What was in flight may still have been written; from then on nothing is.
        now = cluster.kafka.ends(topic, 0)[1]
        assert now <= end + 500
        assert cluster.kafka.ends(topic, 0)[1] == now
    assert progress(crew)
    assert cluster.kafka.ends(topic, 0)[1] > now
    assert sorted(clients.roles().values()) == ["producer", "reader"]


def test_an_event_after_its_trigger(cluster: DockerCluster, topic: str, crew: WorkerPool) -> None:
    clients = WorkerClients(crew)
    wanted = crew.acknowledged() + 100
    with Play(cluster, api.pause(2, after=f"acks:{wanted}", lasting=LONG), topic=topic, clients=clients):
        assert crew.acknowledged() >= wanted
    with Play(cluster, api.kill("controller", lasting=LONG), topic=topic, clients=clients):
        pass
    lifecycle.wait_settled(cluster)
    cut = Play(cluster, api.isolate("follower", lasting=LONG), topic=topic, clients=clients)
    cut.__enter__()
    try:
        waiting = api.pause("out-of-sync", after="isr-shrink", lasting=LONG)
        with Play(cluster, waiting, topic=topic, clients=clients) as play:
            assert play.nodes == cut.nodes
            cut.__exit__(None)
    finally:
        cut.finish()
    lifecycle.wait_settled(cluster)


def test_all_at_once(cluster: DockerCluster, topic: str) -> None:
    with Play(cluster, api.pause("all", lasting=LONG), topic=topic) as play:
        assert sorted(play.nodes) == [1, 2, 3]
        assert set(play.injected["evidence"]["by_node"]) == {"1", "2", "3"}
        assert not any(cluster.answers(node) for node in (1, 2, 3))
    lifecycle.wait_settled(cluster)


@pytest.mark.parametrize("event", [
    api.delay(1, lasting=LONG), api.duplicate(1, lasting=LONG), api.reorder(1, lasting=LONG),
], ids=["delay", "duplicate", "reorder"])  # fmt: skip
def test_emulated_networks(cluster: DockerCluster, topic: str, event: Event) -> None:
    able, _ = cluster.nodes[1].shell("tc qdisc add dev lo root netem delay 1ms && tc qdisc del dev lo root")
    if able:
        pytest.skip(f"{event.fault.name} needs a kernel with netem (the module sch_netem); this one has none")
    with Play(cluster, event, topic=topic):
        assert "netem" in cluster.nodes[1].shell("tc qdisc show dev eth0")[1]
    assert "netem" not in cluster.nodes[1].shell("tc qdisc show dev eth0")[1]


def test_a_clock_that_is_wrong(cluster: DockerCluster) -> None:
    name = own("clock")
    topics.create(
        cluster.brokers, name, assignment={0: [1], 1: [2]}, config={"message.timestamp.type": "LogAppendTime"}
    )
    lifecycle.wait_settled(cluster)

    def ahead(partition: int) -> float:
        producer = KafkaProducer(**access(cluster.brokers.values()))
        try:
            stamped = producer.send(name, b"when", partition=partition).get(timeout=10)
            return float(stamped.timestamp) / 1000 - time.time()
        finally:
            producer.close()

    with Play(cluster, api.clock(2, lasting=LONG, offset=600), topic=name):
        assert ahead(1) == pytest.approx(600, abs=10)
        assert ahead(0) == pytest.approx(0, abs=10)
    assert ahead(1) == pytest.approx(0, abs=10)
    topics.delete(cluster.brokers, name)
    lifecycle.rolling_restart(cluster, nodes=[2])  # see below


def test_a_cluster_is_fit_for_others_after_an_experiment_with_clocks(
    cluster: DockerCluster, tmp_path: Path
) -> None:
    """A broker whose clock went back would not try to reach a peer again for ten minutes."""
    before = {node: cluster.nodes[node].incarnation() for node in cluster.nodes}
    wrong = Experiment(
        workload=AppendLog(), faults=[api.clock(2, at=0.5, lasting=3, offset=600)], duration=4, cooldown=0
    )
    execute(wrong, cluster, run=own("clocks"), home=tmp_path, say=print, stop=threading.Event())
    anew = [node for node, since in before.items() if cluster.nodes[node].incarnation() != since]
    assert anew == [2]
    lifecycle.wait_settled(cluster)
    for _ in range(2):
        deposed = cluster.controller()
        assert deposed is not None
        cluster.nodes[deposed].kill()
        assert seen(lambda was=deposed: cluster.controller() not in (None, was))  # type: ignore[misc]
        cluster.nodes[deposed].start()
        lifecycle.wait_settled(cluster)


@pytest.fixture(scope="module")
def disks(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    if (why := missing_capabilities(engine, ["disks"])["disks"]) is not None:
        pytest.skip(f"power-loss, disk-full, disk-stall and log-dir-failure need disks of their own: {why}")
    spec, logs = ClusterSpec(disk_mb=128), tmp_path_factory.mktemp("disks")
    with running(engine, spec, run=own("disks"), logs=logs) as cluster:
        topics.create(cluster.brokers, "t", assignment={0: [1, 2, 3]})
        yield cluster


@pytest.mark.parametrize("fault", [api.power_loss, api.log_dir_failure, api.disk_full])
def test_a_disk_that_ends_its_broker(disks: DockerCluster, fault: Callable[..., Event]) -> None:
    assert seen(lambda: produce(disks, "t", count=20) == 20)
    with Play(disks, fault("leader", lasting=LONG), topic="t") as play:
        (struck,) = play.nodes

        def down() -> bool:
            produce(disks, "t", count=20, size=100_000, acks=1)
            return not disks.answers(struck)

        assert seen(down)
        assert seen(lambda: disks.leader("t", 0) not in (None, struck))
    assert seen(lambda: disks.answers(struck))
    lifecycle.wait_settled(disks)


def test_a_disk_that_stands_still(disks: DockerCluster) -> None:
    assert seen(lambda: produce(disks, "t", count=20) == 20)
    with Play(disks, api.disk_stall("leader", lasting=LONG), topic="t"):
        assert produce(disks, "t", count=5, acks=1) == 0
    assert seen(lambda: produce(disks, "t", count=20) == 20)
    lifecycle.wait_settled(disks)


@pytest.fixture(scope="module")
def four(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerCluster]:
    """Four brokers and a controller of its own."""
    spec, logs = ClusterSpec(brokers=4, controllers=1), tmp_path_factory.mktemp("four")
    with running(engine, spec, run=own("four"), logs=logs) as cluster:
        topics.create(cluster.brokers, "t", assignment={0: [1, 2, 3]})
        yield cluster


def test_each_hears_a_majority(four: DockerCluster) -> None:
    lifecycle.wait_settled(four)
    brokers = sorted(four.brokers)
    with Play(four, api.majority_ring(lasting=LONG), topic="t"):
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


def test_a_broker_leaves_and_another_comes(four: DockerCluster) -> None:
    with Play(four, api.remove_broker("leader", lasting=LONG), topic="t") as play:
        (gone,) = play.nodes
        assert all(gone not in metadata_views.unfenced(address) for address in four.brokers.values())
        assert four.leader("t", 0) not in (None, gone)
    assert len(four.brokers) == 4
    assert metadata_views.unfenced(next(iter(four.brokers.values()))) == set(four.brokers)
    assert four.controllers == (101,)
    with Play(four, api.kill("controllers", lasting=LONG), topic="t") as play:
        assert play.nodes == [101]
        assert four.nodes[101].state() == "stopped"
    lifecycle.wait_settled(four)


def test_moments_that_events_wait_for(cluster: DockerCluster, topic: str) -> None:
    def watch(text: str) -> Callable[[], bool]:
        return Trigger.parse(text).watch(cluster, NoClients(), topic=topic)

    name, group = own("moment"), own("moments")
    producer = KafkaProducer(**access(cluster.brokers.values()), transactional_id=name)
    producer.init_transactions()
    open_now, rebalanced = watch(f"transaction:{name}"), watch(f"rebalance:{group}")
    assert not open_now()
    assert not rebalanced()
    producer.begin_transaction()
    producer.send(topic, b"within").get(timeout=10)
    assert open_now()
    producer.commit_transaction()
    assert seen(lambda: not open_now())
    producer.close()
    consumers = [KafkaConsumer(topic, group_id=group, **access(cluster.brokers.values())) for _ in range(2)]
    # One that joins before it knows the topic's partitions hands out none, and kafka-python leaves it at that.
    assert all(seen(lambda each=each: bool(each.partitions_for_topic(topic))) for each in consumers)  # type: ignore[misc]
    try:
        assert seen(lambda: bool(consumers[0].poll(timeout_ms=100)) or bool(consumers[0].assignment()))
        # The second one joins, and the first one does not answer: the group is between two generations.
        joining = threading.Thread(target=lambda: consumers[1].poll(timeout_ms=5000))
        joining.start()
        assert seen(rebalanced)
        joining.join()
    finally:
        for consumer in consumers:
            consumer.close()
    assert seen(lambda: cluster.controller() is not None)
    deposed, controllers = watch("controller-change"), [cluster.controller()]
    assert not deposed()
    with Play(cluster, api.kill("controller", lasting=LONG), topic=topic) as play:
        assert seen(lambda: deposed() or bool(controllers.append(cluster.controller()))), (
            play.nodes,
            controllers,
        )
    lifecycle.wait_settled(cluster)
    cluster.kafka.elect(topic, 0, unclean=False)
    assert seen(lambda: cluster.leader(topic, 0) == 1)
    moved, shrunk, full = map(watch, ("leader-change", "isr-shrink", "isr-full"))
    assert not any(each() for each in (moved, shrunk, full))
    with Play(cluster, api.kill("leader", lasting=LONG), topic=topic) as play:
        assert play.nodes == [1]
        assert seen(moved)
        assert seen(shrunk)
        assert not full()
    assert seen(full)
    lifecycle.wait_settled(cluster)
