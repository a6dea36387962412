"""Repeats each fault of processes, networks and storage under load; every repetition is verified."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import pytest_kafkacheck as api
from nemesis.event import Event
from nemesis.registry import DECLARATIONS, FAULTS
from nemesis.run import Nemesis
from nemesis.schedule import Schedule
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.clients import WorkerClients
from pytest_kafkacheck.setup.capabilities import missing_capabilities
from tests.support.real_cluster import own
from workloads.append_log import AppendLog
from workloads.workers.pool import WorkerPool
from workloads.workload import Topic

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(3600)]

TIMES = 30

FAMILIES = ("process", "network", "storage")

NAMES = [name for name, fault in FAULTS.items() if fault.family in FAMILIES]

WITH_OPTIONS: dict[str, Callable[[], Event]] = {
    "restart": lambda: api.restart("leader", clean=False),
    "rolling-restart": lambda: api.rolling_restart("follower"),
    "crash-loop": lambda: api.crash_loop("leader", lasting=2, every=0.5),
    "partition": lambda: api.partition([[1], [2, 3]], lasting=1),
    "bandwidth": lambda: api.bandwidth("leader", lasting=1, kbit=2000),
    "corrupt": lambda: api.corrupt("follower", lasting=1),
    "wipe": lambda: api.wipe("follower", lasting=1),
}
"""All other faults hit the leader for a second."""


def event_of(name: str) -> Event:
    if name in WITH_OPTIONS:
        return WITH_OPTIONS[name]()
    function = next(iter(DECLARATIONS[name].functions.values()))
    return function("leader") if FAULTS[name].momentary else function("leader", lasting=1)


LEFT = "nft list tables inet | grep kafkacheck; tc qdisc show dev eth0 | grep -E 'tbf|netem'; true"
"""Shell command that prints the remains of any network fault."""


@pytest.fixture(scope="module")
def loaded(
    engine: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[DockerCluster, WorkerPool]]:
    """A cluster under continuous load, with disks of its own where the host is able to make them."""
    disks = missing_capabilities(engine, ["disks"])["disks"] is None
    spec, home = ClusterSpec(disk_mb=1024 if disks else None), tmp_path_factory.mktemp("endurance")
    with running(engine, spec, run=own("endurance"), logs=home) as cluster:
        topics.create(cluster.brokers, "t", assignment={0: [1, 2, 3]})
        lifecycle.wait_settled(cluster)
        rows: list[Mapping[str, Any]] = []
        workload = AppendLog(partitions=1, producers=1, readers=1, sessions=0, rate=300)
        with WorkerPool(
            workload.workers(), run="r", home=home, brokers=cluster.brokers,
            topics=[Topic(name="t", partitions=1, replication_factor=3)], record=rows.append,
        ) as workers:  # fmt: skip
            workers.go()
            yield cluster, workers


@pytest.mark.parametrize("name", NAMES)
def test_verified_every_time(
    loaded: tuple[DockerCluster, WorkerPool], engine: Any, name: str, tmp_path: Path
) -> None:
    cluster, workers = loaded
    event = event_of(name)
    missing = {
        need: why for need, why in missing_capabilities(engine, event.fault.needs).items() if why is not None
    }
    if missing:
        pytest.skip(f"{name} cannot be had here: {missing}")
    failures = []
    for number in range(TIMES):
        rows: list[Mapping[str, Any]] = []
        Nemesis(
            Schedule.of([event]),
            cluster,
            topic="t",
            seed=number,
            record=rows.append,
            clients=WorkerClients(workers),
        ).run(threading.Event())
        lifecycle.wait_settled(cluster)
        failures += [
            (number, row["f"], row["value"], row["error"]) for row in rows if not row["value"]["effective"]
        ]
    (tmp_path / "failures.txt").write_text("\n".join(map(str, failures)))
    left = [cluster.nodes[node].shell(LEFT)[1].strip() for node in cluster.nodes]
    assert left == ["", "", ""]
    assert all(node.state() == "running" for node in cluster.nodes.values())
    assert not failures, f"{len(failures)} of {TIMES}: {failures[:3]}"
    print(f"{name}: {TIMES} of {TIMES} verified when injected and when healed")  # noqa: T201
