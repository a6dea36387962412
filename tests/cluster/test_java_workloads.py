"""Every workload with Apache Kafka's Java client, of the release that the brokers run: valid while a leader fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.spec.release import release_of
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.java_client import java_library
from workloads.stored import built_in

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(400)]

RELEASES = ("2.8.2", "3.9.2", "4.1.1", "4.4.0")

FOLLOWERS = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
SOON = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000}
"""Transactions that stall are aborted in time."""

CLUSTERS = {
    release: ClusterSpec(
        version=release,
        zookeepers=0 if release_of(release).kraft else 1,
        racks=("a", "b", "c"),
        config=FOLLOWERS | SOON,
    )
    for release in RELEASES
}

SAFE = {"min.insync.replicas": 2}

WORKLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "append-log": ("append-log", {}),
    "sessions": ("sessions", {}),
    "sessions-on-followers": ("sessions", {"read_from": "follower"}),
    "transactions": ("transactions", {"rivals": 1, "stalls": 0.05, "timeout": 2}),
    "bank": ("bank", {}),
    "copy": ("copy", {"assignor": "cooperative-sticky"}),
    "groups-range": ("groups", {"assignor": "range", "rejoin": 2}),
    "groups-roundrobin": ("groups", {"assignor": "roundrobin"}),
    "groups-sticky-static": ("groups", {"assignor": "sticky", "static": True}),
    "groups-cooperative": ("groups", {"assignor": "cooperative-sticky", "rejoin": 2, "commit": "periodic"}),
    "groups-consumer": ("groups", {"protocol": "consumer", "rejoin": 2}),
    "rewind": ("rewind", {}),
    "compacted": ("compacted", {}),
    "admin": ("admin", {}),
    "queue": ("queue", {"lock": 15}),
}
"""Name of the workload, and its settings."""

NOT_BEFORE = {
    "groups-consumer": "4.1.1",
    "admin": "4.1.1",
    "queue": "4.4.0",
    "sessions-on-followers": "3.9.2",
}
"""Of the releases here, the first one that has it."""


CASES = [
    pytest.param(release, name, id=f"{release}-{name}")
    for release in RELEASES
    for name in WORKLOADS
    if RELEASES.index(release) >= RELEASES.index(NOT_BEFORE.get(name, RELEASES[0]))
]


@pytest.mark.parametrize(("release", "name"), CASES)
def test_a_safe_workload_is_valid(kafkacheck: Callable[[Experiment], Run], release: str, name: str) -> None:
    kind, values = WORKLOADS[name]
    make = next(each for each in built_in().values() if each.declaration.name == kind)
    safe = {} if kind == "admin" else {"topic_config": SAFE}
    workload = make(library=java_library(release), **safe, **values)
    faults = [api.kill("leader", at=3, lasting=3)]
    experiment = Experiment(workload=workload, cluster=CLUSTERS[release], faults=faults, cooldown=10)
    kafkacheck(experiment).assert_valid()


def test_every_workload_is_here() -> None:
    names = {kind.declaration.name for kind in built_in().values()} - {"", "pipeline"}
    assert names == {kind for kind, _ in WORKLOADS.values()}
