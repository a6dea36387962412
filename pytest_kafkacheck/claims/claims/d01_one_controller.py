"""The active controller is killed, then stands still, then is cut off. All the time every broker, in ZooKeeper mode
ZooKeeper, is asked who it is; and each node's own log says in which epochs it became controller.

Exercised: after each fault another controller was seen, and a node's log has its election.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial

from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from nemesis.faults.pause import pause
from nemesis.tasks import in_thread
from nemesis.views import Elected
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART, OLDEST, ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.kafka.quick_look import QuickLook
from workloads.clients import requests

FAULTS = (kill, pause, isolate)

PAUSE = 0.1
"""Seconds between two rounds of questions."""

BECAME = re.compile(
    rb"Completed transition to Leader\([^\n]*?\bepoch=(\d+)"
    rb"|successfully elected as the controller\. Epoch incremented to (\d+)"
)
"""A line of a node that became controller, in KRaft and in ZooKeeper mode, with the epoch."""


def show(context: ScenarioContext) -> Answer:
    cluster = context.cluster
    controllers: dict[int, set[int]] = defaultdict(set)
    went_back: list[tuple[str, int, int]] = []
    ended = threading.Event()
    printed = {node: len(each.logs()) for node, each in cluster.nodes.items()}

    def watch(name: str, look: Callable[[], Elected | None]) -> None:
        newest = -1
        while not ended.wait(PAUSE):
            try:
                found = look()
            except OSError:
                continue
            if found is None or found.node is None:
                continue
            controllers[found.epoch].add(found.node)
            if found.epoch < newest:
                went_back.append((name, newest, found.epoch))
            newest = max(newest, found.epoch)

    def has_another_controller(before: int) -> bool:
        return cluster.controller() not in (None, before)

    zookeeper = cluster.quick()  # one session for all questions
    watching = [
        in_thread(partial(watch, name, look), f"kafkacheck-watch-{name}")
        for name, look in sources(context, zookeeper).items()
    ]
    times = {}
    try:
        for fault in FAULTS:
            before = cluster.controller()
            assert before is not None
            with cluster.fault(fault(before)):
                times[fault.__name__] = context.require(
                    partial(has_another_controller, before),
                    20,
                    f"another controller after {fault.__name__}",
                )
            cluster.wait_settled()
    finally:
        ended.set()
        for task in watching:
            task.result()
        zookeeper.close()
    elections = 0
    for node, each in cluster.nodes.items():
        for in_kraft, otherwise in BECAME.findall(each.logs()[printed[node] :]):
            controllers[int(in_kraft or otherwise)].add(node)
            elections += 1
    exercised(elections >= len(FAULTS), f"the nodes' logs have {elections} elections")
    several = [epoch for epoch, nodes in controllers.items() if len(nodes) > 1]
    return Answer(
        holds=not several and not went_back,
        seen=f"{len(controllers)} controller epochs, {len(several)} of them with two controllers; an older epoch was "
        f"seen after a newer one {len(went_back)} times",
        figures={
            "controller epochs": len(controllers),
            **{f"new one after {name} (s)": round(seconds, 1) for name, seconds in times.items()},
        },
    )


def sources(context: ScenarioContext, zookeeper: QuickLook) -> Mapping[str, Callable[[], Elected | None]]:
    """Those who know the controller, by name: every broker, or ZooKeeper."""
    if not context.cluster.spec.kraft:
        return {"ZooKeeper": zookeeper.elected_controller}

    def ask(node: int) -> Elected | None:
        quorum = requests.quorum(context.ask(node))
        return None if quorum is None else Elected(quorum.leader, quorum.epoch)

    return {f"broker {node}": partial(ask, node) for node in context.cluster.brokers}


CLAIM = Claim(
    id="D1",
    title="one active controller",
    text="There is at most one active controller in each epoch, and the epoch only grows, however a "
    "controller fails.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-595%3A+A+Raft+Protocol+for+the+Metadata+Quorum",
    cases=(
        Case(name="4.1.1 controllers apart", cluster=CONTROLLERS_APART),
        Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER),
        Case(name="2.8.2 ZooKeeper", cluster=OLDEST),
    ),
    show=show,
)
