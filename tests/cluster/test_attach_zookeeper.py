"""Attached clusters in ZooKeeper mode: the controller, restarts, and ZooKeeper's own nodes."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck import delete_controller, pause
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.given_containers import container_ids
from pytest_kafkacheck.cluster.kafka import topics, zookeeper
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from tests.support.compose_project import NEEDS_COMPOSE, composed
from tests.support.real_cluster import wait_until
from workloads.history.compaction.compact import compact
from workloads.workers.parent_death import spawn
from workloads.workers.pool import WorkerPool
from workloads.workload import PROBE, Topic, WorkerSpec

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, NEEDS_COMPOSE]

SESSION = """
import sys, time
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.engine import connect
with attached(connect(), sys.argv[1]) as cluster:
    cluster.nodes[1].kill()
    cluster.nodes[201].freeze()
    print("struck", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module", params=["3.9.2", "2.8.2"])
def project(request: pytest.FixtureRequest, engine: Any) -> Iterator[str]:
    with composed(engine, "zookeeper.yml", version=request.param) as name:

        def answers() -> bool:
            with suppress(UsageError, InfrastructureError), attached(engine, f"compose:{name}"):
                return True
            return False

        wait_until(answers, limit=120)
        yield f"compose:{name}"


@pytest.fixture
def cluster(engine: Any, project: str) -> Iterator[DockerCluster]:
    with attached(engine, project) as cluster:
        yield cluster


def test_its_nodes_are_found(cluster: DockerCluster) -> None:
    assert cluster.spec.attached == {1: "broker", 2: "broker", 3: "broker", 201: "zookeeper"}
    assert not cluster.spec.kraft
    assert sorted(cluster.brokers) == [1, 2, 3]
    assert cluster.controllers == ()
    assert cluster.planes == {"replication": {9092}}
    assert cluster.controller() in cluster.brokers
    assert (cluster.kafka.registration(2), cluster.kafka.registration(9)) == ("active", "unregistered")
    assert cluster.healthy()


def test_the_controller_is_a_target(cluster: DockerCluster) -> None:
    with cluster.fault(pause("controller")) as fault:
        (paused,) = fault.nodes
        wait_until(lambda: cluster.controller() not in (None, paused), limit=60)
    cluster.wait_settled()
    with cluster.fault(delete_controller()) as deleted:
        assert deleted.evidence["epoch"] > deleted.evidence["epoch_before"] > 0
    with pytest.raises(UsageError, match="in ZooKeeper mode one of the brokers is the controller"):
        cluster.fault(pause("controllers")).__enter__()


def test_the_controller_is_sampled(cluster: DockerCluster, tmp_path: Path) -> None:
    """Before, during and after an election: in ZooKeeper one after another, and by each broker."""
    topic = Topic(name=f"controlled-{secrets.token_hex(4)}", partitions=1, replication_factor=3)
    topics.create(cluster.brokers, topic.name, assignment={0: [1, 2, 3]})
    with WorkerPool(
        [WorkerSpec(role=PROBE, process=0)], run="r", home=tmp_path, brokers=cluster.brokers, topics=[topic],
        record=lambda _: None, ensemble=cluster.ensemble,
    ) as pool:  # fmt: skip
        pool.go()
        wait_until(lambda: pool.total("samples") > 50)
        with cluster.fault(delete_controller()) as deleted:
            before, after = deleted.evidence["epoch_before"], deleted.evidence["epoch"]
        # Brokers learn of the controller from itself.
        sampled = pool.total("samples")
        wait_until(lambda: pool.total("samples") > sampled + 200)
        pool.stop()
        assert pool.crashed() == ()
    topics.delete(cluster.brokers, topic.name)
    compact(tmp_path)
    samples = pq.ParquetFile(tmp_path / "history" / "observations" / "part-0.parquet").read().to_pylist()
    kept = sorted((each for each in samples if each["kind"] == "controller"), key=lambda each: each["asked"])
    epochs = [each["leader_epoch"] for each in kept]
    assert epochs == sorted(epochs)
    assert set(epochs) == {before, after}
    assert {(each["node"], each["connection"]) for each in kept} == {(None, 0)}
    last = kept[-1]["leader"]
    assert last == deleted.evidence["controller"]
    for node in cluster.brokers:
        (*_, view) = (each for each in samples if (each["kind"], each["node"]) == ("controller_view", node))
        assert (view["leader"], view["leader_epoch"]) == (last, None)


def test_a_broker_is_started_when_its_old_session_has_expired(cluster: DockerCluster) -> None:
    node = cluster.nodes[1]
    node.kill()
    node.start()
    # Its new process needs longer to register.
    assert 1 not in zookeeper.registered(cluster.ensemble)
    cluster.wait_settled()
    assert 1 in zookeeper.registered(cluster.ensemble)


def test_its_zookeeper_can_fail(cluster: DockerCluster) -> None:
    cluster.nodes[201].kill()
    wait_until(lambda: not cluster.serving(201))
    assert cluster.controller() is None
    cluster.nodes[201].start()
    wait_until(lambda: cluster.serving(201), limit=60)
    cluster.wait_settled()
    assert cluster.controller() in cluster.brokers


def test_what_a_killed_session_did_is_undone(engine: Any, project: str) -> None:
    process = spawn(
        [sys.executable, "-W", "ignore", "-c", SESSION, project], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "struck"
        process.send_signal(signal.SIGKILL)
        process.wait()
        # The guardian has the cluster as soon as it lets nodes run.
        containers = container_ids(engine, project)
        assert len(containers) == 4

        def all_run() -> bool:
            states = [engine.api.inspect_container(each)["State"] for each in containers]
            return all(state["Running"] and not state["Paused"] for state in states)

        wait_until(all_run)
    finally:
        process.kill()
        process.communicate()
    with attached(engine, project) as cluster:  # which waits for the guardian
        assert sorted(cluster.brokers) == [1, 2, 3]
        assert cluster.healthy()
