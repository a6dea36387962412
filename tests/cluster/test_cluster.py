"""A real cluster: nodes can be killed, frozen and cut off, and everything is removed at the end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from tenacity import RetryError

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.containers import agent_in
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.docker.plan import create_pod
from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.nodes.agent import Agent
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from tests.support.real_cluster import objects, own, wait_until

pytestmark = pytest.mark.cluster


def test_every_broker_is_listed_and_one_is_the_controller(cluster: DockerCluster) -> None:
    assert list(cluster.nodes) == [1, 2, 3]
    assert cluster.controller() in cluster.nodes
    assert cluster.healthy()
    assert len({node.mac for node in cluster.nodes.values()}) == 3


@pytest.mark.parametrize("way", ["freezer", "signal"])
def test_a_paused_broker_has_the_state_paused(cluster: DockerCluster, way: str) -> None:
    node = cluster.nodes[1]
    node.freeze() if way == "freezer" else node.signal("STOP")
    try:
        assert node.state() == "paused"
        with pytest.raises(OSError, match=r"."):
            metadata_views.metadata(node.client_address, [])
    finally:
        node.thaw() if way == "freezer" else node.signal("CONT")
    assert node.state() == "running"
    wait_until(cluster.healthy)


def test_kafka_refuses_a_wrong_topic_as_a_usage_error(cluster: DockerCluster) -> None:
    with pytest.raises(UsageError, match="replication factor"):
        topics.create(cluster.brokers, "too-many", partitions=1, replication_factor=4)


def test_everything_is_removed_when_the_block_ends_by_an_error(engine: Any, tmp_path: Path) -> None:
    spec = ClusterSpec(brokers=1)

    def interrupted() -> None:
        with running(engine, spec, run=own("gone"), logs=tmp_path):
            assert objects(engine, own("gone"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert objects(engine, own("gone")) == []


def test_a_broker_that_ends_early_is_an_infrastructure_error_with_its_last_output(
    engine: Any, tmp_path: Path
) -> None:
    spec = ClusterSpec(brokers=1, config={"log.segment.bytes": "1"})
    with (
        pytest.raises(InfrastructureError, match=r"(?s)kafka1 exited with status 1.*log\.segment\.bytes"),
        running(engine, spec, run=own("early"), logs=tmp_path),
    ):
        pass
    assert objects(engine, own("early")) == []
    assert b"log.segment.bytes" in (tmp_path / "kafka1.log").read_bytes()


def test_everything_is_removed_after_an_interrupt_while_the_engine_makes_the_network(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = engine.api.create_network

    def slow(*args: Any, **options: Any) -> Any:
        """A request that the engine completes even if the sender does not wait for the answer."""
        made: list[Any] = []

        def work() -> None:
            time.sleep(1)
            made.append(make(*args, **options))

        working = threading.Thread(target=work)
        working.start()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        working.join()
        return made[0]

    monkeypatch.setattr(engine.api, "create_network", slow)
    with pytest.raises(KeyboardInterrupt), running(engine, ClusterSpec(), run=own("ctrlc"), logs=tmp_path):
        pass
    with pytest.raises(RetryError):
        wait_until(lambda: objects(engine, own("ctrlc")), limit=2)


def test_a_missing_image_is_an_infrastructure_error(engine: Any, tmp_path: Path) -> None:
    spec = ClusterSpec(image="kafkacheck/none:0")
    with (
        pytest.raises(InfrastructureError, match="kafkacheck setup"),
        running(engine, spec, run=own("none"), logs=tmp_path),
    ):
        pass


def test_an_image_of_another_layout_is_a_usage_error(engine: Any, tmp_path: Path) -> None:
    spec = ClusterSpec(image=agent_image())
    with (
        pytest.raises(UsageError, match=r"laid out differently: no Kafka in /opt/kafka/libs.*apache/kafka"),
        running(engine, spec, run=own("other"), logs=tmp_path),
    ):
        pass
    assert objects(engine, own("other")) == []


def test_too_little_memory_is_an_infrastructure_error(engine: Any, tmp_path: Path) -> None:
    spec = ClusterSpec(brokers=9, heap_mb=100_000)
    with (
        pytest.raises(InfrastructureError, match="need about 902250 MiB"),
        running(engine, spec, run=own("big"), logs=tmp_path),
    ):
        pass


@pytest.mark.usefixtures("own_label")
def test_the_next_start_removes_objects_of_dead_owners_and_leaves_those_of_living_ones(
    engine: Any,
) -> None:
    dead = {**reaper.labels("dead"), reaper.OWNER: "1@-1"}
    living = reaper.labels(own("living"))
    for labels in (dead, living):
        engine.api.create_network(f"kafkacheck-{labels[reaper.RUN]}", labels=labels)
        engine.api.create_container(agent_image(), command="true", labels=labels)
        engine.api.create_volume(f"kafkacheck-{labels[reaper.RUN]}", labels=labels)
    try:
        assert reaper.sweep(engine) == ["dead"]
        assert objects(engine, "dead") == []
        assert len(objects(engine, own("living"))) == 3
    finally:
        reaper.remove_run(engine, own("living"))


@pytest.mark.nightly
@pytest.mark.usefixtures("own_label")
def test_an_application_of_a_dead_owner_is_removed_before_the_network_that_it_uses(engine: Any) -> None:
    """And alone, where its cluster lives."""
    dead, living = {**reaper.labels("cluster"), reaper.OWNER: "1@-1"}, reaper.labels(own("living"))
    for labels in (dead, living):
        run = labels[reaper.RUN]
        network = f"kafkacheck-{run}"
        engine.api.create_network(network, labels=labels)
        of_app = {**dead, reaper.RUN: f"z-{run}", reaper.USES: run}
        engine.api.start(
            create_pod(
                engine.api, name=f"{network}-app", host="app", network=network, ports={}, labels=of_app
            )
        )
    try:
        began = time.monotonic()
        assert reaper.sweep(engine) == [*sorted([f"z-{own('living')}", "z-cluster"]), "cluster"]
        assert time.monotonic() - began < reaper.LIMIT / 3, "nothing waited for the network to be unused"
        assert len(objects(engine, own("living"))) == 1
        of_app = {**living, reaper.RUN: "z", reaper.USES: own("living")}
        network = f"kafkacheck-{own('living')}"
        engine.api.start(
            create_pod(engine.api, name="kafkacheck-z", host="z", network=network, ports={}, labels=of_app)
        )
    finally:
        reaper.remove_run(engine, own("living"))
    assert objects(engine, "z") == [], "it goes with the cluster"


@pytest.fixture
def pod(engine: Any) -> Iterator[str]:
    labels = reaper.labels("agent")
    engine.api.create_network("kafkacheck-agent", labels=labels)
    pod = create_pod(
        engine.api,
        name="kafkacheck-agent-pod",
        host="pod",
        network="kafkacheck-agent",
        ports={},
        labels=labels,
    )
    engine.api.start(pod)
    yield pod
    reaper.remove_run(engine, "agent")


@pytest.fixture
def agent(engine: Any, pod: str) -> Iterator[Agent]:
    with closing(agent_in(engine.api, pod)) as agent:
        yield agent


def test_a_look_delays_no_command(cluster: DockerCluster) -> None:
    """A proof may have to wait for silence, while another fault of the node is due."""
    node, file = cluster.nodes[1], f"/tmp/{own('go')}"
    with ThreadPoolExecutor() as pool:
        look = pool.submit(node.look, f"until [ -e {file} ]; do sleep 0.1; done; echo went", timeout=30)
        assert node.shell(f"touch {file}") == (0, "")
        assert look.result() == (0, "went")
    assert node.look("echo out; echo err >&2; exit 3") == (3, "out\nerr")
    assert node.look("sleep 30", timeout=0.3)[0] == 124


CUT = "nft 'table inet kafkacheck { chain in { type filter hook input priority -300; }; }'"
TABLES = "nft list tables inet"


def test_the_agent_answers_with_status_and_output(agent: Agent) -> None:
    assert agent.shell("echo out; echo err >&2; exit 3", timeout=5) == (3, "out\nerr")
    assert agent.shell("sleep 30", timeout=0.3)[0] == 124
    assert agent.shell("cat", timeout=5) == (0, "")


def test_the_agent_heals_when_its_session_is_gone(engine: Any, pod: str, agent: Agent) -> None:
    assert agent.shell(CUT, timeout=5) == (0, "")
    assert "kafkacheck" in agent.shell(TABLES, timeout=5)[1]
    # A second container in the same namespace checks the rules independently of the agent.
    watch = engine.api.create_container(
        agent_image(),
        command=["sh", "-c", f"while {TABLES} | grep -q kafkacheck; do sleep 0.1; done"],
        labels=reaper.labels("agent"),
        host_config=engine.api.create_host_config(network_mode=f"container:{pod}", cap_add=["NET_ADMIN"]),
    )["Id"]
    engine.api.start(watch)
    assert engine.api.inspect_container(watch)["State"]["Running"]
    assert agent.end()  # which closes its connection, as the kernel does when the session is killed
    assert engine.api.wait(watch, timeout=20)["StatusCode"] == 0
    wait_until(lambda: "heal()" not in str(engine.api.top(pod)["Processes"]))
    assert engine.api.inspect_container(pod)["State"]["Running"], "the network outlives the agent"


@pytest.mark.nightly
def test_the_agent_answers_although_the_engine_answers_late(
    cluster: DockerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine, the agent's output may arrive in the same packet as the engine's answer to `attach`.

    docker-py's buffer for the answer then holds that output, and must not lose it.
    """
    begin = HTTPResponse.begin

    def late(self: HTTPResponse) -> None:
        time.sleep(0.5)
        begin(self)

    monkeypatch.setattr(HTTPResponse, "begin", late)
    with closing(agent_in(cluster.client.api, cluster.nodes[1].pod)) as agent:
        assert agent.shell("echo here", timeout=5) == (0, "here")
