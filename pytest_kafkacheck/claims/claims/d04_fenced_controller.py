"""The controller stands still until another one is elected, and goes on; meanwhile records are written.

Exercised: after its return the old controller's log says that its session had expired, or that it resigned.
"""

from __future__ import annotations

import re

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import OLDEST, ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext

RESIGNED = re.compile(rb"Session expired|Resigned|[Uu]nable to reconnect to ZooKeeper service, session")
REFUSED = re.compile(rb"from an old controller|stale (broker|controller) epoch|ControllerMovedException")


def show(context: ScenarioContext) -> Answer:
    cluster = context.cluster
    topic = context.topic(config={"min.insync.replicas": 2})
    old = cluster.controller()
    assert old is not None
    before = cluster.kafka.controller_epoch()
    printed = {node: len(cluster.nodes[node].logs()) for node in cluster.brokers}
    writer = context.writer(topic)
    with cluster.fault(pause(old)):
        elected = context.require(
            lambda: cluster.controller() not in (None, old) and cluster.kafka.controller_epoch() > before,
            20,
            "another controller",
        )
        new, epoch = cluster.controller(), cluster.kafka.controller_epoch()
    context.require(
        lambda: bool(RESIGNED.search(cluster.nodes[old].logs()[printed[old] :])),
        20,
        "the old controller resigns",
    )
    cluster.wait_settled()
    views = {node: context.view(topic, at=node) for node in cluster.brokers}
    acked = writer.stop()
    kept = set(context.read(topic).values())
    lost = sum(ack.value not in kept for ack in acked)
    refused = sum(
        len(REFUSED.findall(cluster.nodes[node].logs()[printed[node] :])) for node in cluster.brokers
    )
    agree = len({(view.leader, view.leader_epoch) for view in views.values()}) == 1
    return Answer(
        holds=cluster.controller() == new
        and cluster.kafka.controller_epoch() == epoch
        and agree
        and not lost,
        seen=f"controller {new} in epoch {epoch} before and after the return of {old}; brokers refused it in "
        f"{refused} lines of their logs; {lost} of {len(acked)} lost",
        figures={"new controller after (s)": round(elected, 1), "refusals logged": refused, "lost": lost},
    )


CLAIM = Claim(
    id="D4",
    title="an old controller is fenced",
    text="A controller that stood still past its session, and goes on, is fenced by the controller epoch: its "
    "requests are refused, it resigns, and metadata does not go back.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Controller+Internals",
    cases=(
        Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER),
        Case(name="2.8.2 ZooKeeper", cluster=OLDEST),
    ),
    show=show,
)
