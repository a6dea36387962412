"""An attached cluster permits faults that its owner's containers survive unchanged, and refuses the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from docker.errors import NotFound

from nemesis.event import Event
from nemesis.faults.add_broker import add_broker
from nemesis.faults.cpu import cpu
from nemesis.faults.disk_full import disk_full
from nemesis.faults.memory import memory
from nemesis.faults.oom import oom
from nemesis.faults.pause import pause
from nemesis.faults.wipe import wipe
from pytest_kafkacheck.cluster.docker.attach import AttachedCluster
from pytest_kafkacheck.cluster.docker.discovery import Discovered
from pytest_kafkacheck.cluster.docker.foreign_ensemble import ForeignEnsemble
from pytest_kafkacheck.cluster.docker.given_containers import names_containers
from pytest_kafkacheck.cluster.docker.plan import Plan
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError

REFUSED = (
    cpu(1, lasting=1),
    memory(1, lasting=1),
    oom(1, lasting=1),
    wipe(1, lasting=1),
    disk_full(1, lasting=1),
    add_broker(lasting=1),
)


@pytest.fixture
def shop() -> AttachedCluster:
    """It has no nodes: nothing of it may be used before an event is refused."""
    spec = ClusterSpec(attached={1: "combined"})
    plan = Plan(run="attach-1", spec=spec, image="", owner={}, cluster_id="")
    found = Discovered(
        cluster_id="",
        brokers={},
        controllers={},
        addresses={},
        voters=frozenset({1}),
        ports={},
        session_timeout=9,
        ensemble=ForeignEnsemble(),
    )
    return AttachedCluster(None, plan, {}, found=found)


@pytest.mark.parametrize(
    "begin",
    [
        lambda cluster, event: cluster.fault(event),
        lambda cluster, event: cluster.nemesis([pause(1, lasting=1), event.named("it")]),
    ],
    ids=["fault", "nemesis"],
)
@pytest.mark.parametrize("event", REFUSED, ids=lambda event: event.fault.name)
def test_faults_that_change_it_are_refused_around_own_code(
    shop: AttachedCluster,
    event: Event,
    begin: Callable[[AttachedCluster, Event], AbstractContextManager[Any]],
) -> None:
    with pytest.raises(UsageError, match=rf"{event.fault.name} changes .*--attach"), begin(shop, event):
        pytest.fail("the block began")


def test_others_are_permitted(shop: AttachedCluster) -> None:
    shop.refuse([pause(1)])


class Engine:
    """An engine with these clusters of kafkacheck, and these other containers."""

    def __init__(self, clusters: Iterable[str], containers: Iterable[str]) -> None:
        self.runs, self.names = set(clusters), set(containers)
        self.api = self

    def containers(self, *, filters: dict[str, str], **_: object) -> list[dict[str, str]]:
        _, _, run = filters["label"].partition("=")
        return [{"Id": run}] if run in self.runs else []

    def inspect_container(self, name: str) -> dict[str, Any]:
        if name not in self.names:
            raise NotFound(f"no container {name}")
        return {"Id": name}


@pytest.mark.parametrize(
    ("name", "attaches"),
    [
        ("compose:shop", True),
        ("kafka-a,kafka-b", True),
        ("kafka-a", True),
        ("mine", False),
        ("both", False),
        ("no", False),
    ],
)
def test_a_name_is_that_of_a_cluster_of_kafkacheck_or_else_of_a_container(name: str, attaches: bool) -> None:
    engine = Engine({"mine", "both"}, {"kafka-a", "kafka-b", "both"})
    assert names_containers(engine, name) == attaches
