"""The controller stands still until another one is elected, and goes on. It is a follower of a partition that is
written: the leader removes it from the ISR before its session ends, and the request for that waits in its socket. So
when it goes on, it does the work of a controller, unless it learns before that its session is over. This is repeated
until it does, a few times at most.

Exercised: the log of another broker says that it refused a request of the old controller, with its epoch; and the
log of the old one says that its session had expired, or that it resigned.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

RESIGNED = re.compile(rb"Session expired|Resigned|[Uu]nable to reconnect to ZooKeeper service, session")

SESSION = {"zookeeper.session.timeout.ms": "6000"}
"""Twice as long as the ISR needs to shrink."""

ROUNDS = 3

REFUSAL_LIMIT = 3.0
"""Seconds from the end of its session for a request of the old controller to be refused."""


def refused(controller: int, epoch: int) -> re.Pattern[bytes]:
    """Lines of a broker that refuses a request of that controller in that epoch."""
    return re.compile(
        rf"from an old controller {controller} with epoch {epoch}\b|controller epoch {epoch} is old".encode()
    )


class Return(NamedTuple):
    """Of a controller that stood still.

    elected   seconds until another one was elected.
    refusals  lines of other brokers' logs.
    lost      acknowledged records.
    is_fenced whether the new controller stayed, all brokers agree on leaders, and the old one leads nothing it led.
    """

    elected: float
    refusals: int
    lost: int
    is_fenced: bool
    seen: str


def show(context: ScenarioContext) -> Answer:
    rounds: list[Return] = []
    while len(rounds) < ROUNDS and not sum(each.refusals for each in rounds):
        rounds.append(_return(context))
    *_, last = rounds
    exercised(last.refusals > 0, f"no broker refused a request of the old controller in {ROUNDS} rounds")
    return Answer(
        holds=all(each.is_fenced and not each.lost for each in rounds),
        seen=f"{last.seen}, in round {len(rounds)}",
        figures={
            "new controller after (s)": round(last.elected, 1),
            "refusals logged": last.refusals,
            "lost": sum(each.lost for each in rounds),
        },
    )


def _return(context: ScenarioContext) -> Return:
    cluster = context.cluster
    old, *others = context.brokers
    led = context.topic(config={"min.insync.replicas": 2})
    followed = context.topic((*others, old), config={"min.insync.replicas": 2})
    before = cluster.kafka.controller_epoch()
    printed = {node: len(cluster.nodes[node].logs()) for node in cluster.brokers}
    writer = context.writer(followed)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    with cluster.fault(pause(old)):
        elected = context.require(
            lambda: cluster.controller() not in (None, old) and cluster.kafka.controller_epoch() > before,
            20,
            "another controller",
        )
        new, epoch = cluster.controller(), cluster.kafka.controller_epoch()

    def lines(pattern: re.Pattern[bytes], *nodes: int) -> int:
        return sum(len(pattern.findall(cluster.nodes[node].logs()[printed[node] :])) for node in nodes)

    context.require(lambda: lines(RESIGNED, old) > 0, 20, "the old controller resigns")
    context.wait(lambda: lines(refused(old, before), *others) > 0, REFUSAL_LIMIT)
    cluster.wait_settled()
    views = {
        (topic, view.leader, view.leader_epoch)
        for topic in (led, followed)
        for view in (context.view(topic, at=node) for node in cluster.brokers)
    }
    moved = context.view(led).leader != old
    acked = writer.stop()
    kept = set(context.read(followed).values())
    lost = sum(ack.value not in kept for ack in acked)
    refusals = lines(refused(old, before), *others)
    is_same = cluster.controller() == new and cluster.kafka.controller_epoch() == epoch
    return Return(
        elected=elected,
        refusals=refusals,
        lost=lost,
        is_fenced=is_same and len(views) == 2 and moved,
        seen=f"controller {new} in epoch {epoch} before and after the return of {old}, whose requests with epoch "
        f"{before} the others refused in {refusals} lines of their logs; its partition has "
        f"{'another' if moved else 'the same'} leader; {lost} of {len(acked)} lost",
    )


CLAIM = Claim(
    id="D4",
    title="an old controller is fenced",
    text="A controller that stood still past its session, and goes on, is fenced by the controller epoch: its "
    "requests are refused, it resigns, and metadata does not go back.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Controller+Internals",
    # Not on 2.8.2: there a leader whose request for a change of the ISR was lost with its controller may never ask
    # again. Its ISR stayed short for two minutes.
    cases=(Case(name="3.9.2 ZooKeeper", cluster=replace(ZOOKEEPER, config=SESSION)),),
    show=show,
)
