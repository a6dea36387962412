"""All brokers are restarted under load, one after the other: first by controlled shutdowns, then by kills. Each leads
a partition, and gets it back by a preferred election before the next one goes.

Exercised: each broker led its partition when it went, and another one led it while the broker was away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple

from pytest_kafkacheck.claims import timeline
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed, stopped
from pytest_kafkacheck.report.lane import Group

BEFORE, AFTER = 1.0, 1.0
"""Seconds of the picture before the first and after the last broker."""

WAYS: dict[str, Callable[[ScenarioContext, int], AbstractContextManager[None]]] = {
    "controlled shutdowns": stopped,
    "kills": killed,
}

IMPATIENT: dict[str, Any] = {"retries": 0, "request_timeout_ms": 1000, "delivery_timeout_ms": 1500}
"""A producer that reports a send as failed instead of repeating it."""


class Away(NamedTuple):
    """A broker that is not there, from and until a moment of the monotonic clock."""

    node: int
    began: float
    ended: float

    def covers(self, sample: timeline.Sample) -> bool:
        return sample.leader == self.node and self.began <= sample.at <= self.ended


def show(context: ScenarioContext) -> Answer:
    nodes = sorted(context.cluster.brokers)
    layouts = [nodes[number:] + nodes[:number] for number in range(len(nodes))]
    topic = context.topic(*layouts, config={"min.insync.replicas": 2})
    writer = context.writer(topic, partitions=len(nodes), **IMPATIENT)
    context.require(lambda: len(writer.acks) > 50, 15, "50 acks")
    windows, without = {}, {}
    with ExitStack() as stack:
        samples = [
            stack.enter_context(timeline.sampled(context, topic, number)) for number in range(len(nodes))
        ]
        context.wait(lambda: False, BEFORE)
        for name, way in WAYS.items():
            began = time.monotonic()
            away = [_restart(context, topic, number, node, way) for number, node in enumerate(nodes)]
            ended = time.monotonic()
            context.wait(lambda: False, AFTER)
            windows[name] = timeline.Window(began - BEFORE, ended + AFTER)
            without[name] = round(sum(leaderless(each, windows[name], away) for each in samples), 1)
    acked = writer.stop()
    failed = {name: sum(map(window.covers, writer.failed)) for name, window in windows.items()}
    groups = tuple(
        Group(
            title=f"Each broker in turn: {name}",
            lanes=(
                *(
                    timeline.replicas(each, nodes, windows[name], of=f"partition {number}, ")
                    for number, each in enumerate(samples)
                ),
                timeline.rate("acknowledged", [ack.at for ack in acked], windows[name]),
            ),
        )
        for name in WAYS
    )
    gentle, hard = WAYS
    return Answer(
        holds=without[gentle] < without[hard] / 2 and failed[gentle] < failed[hard],
        seen=f"with {gentle} partitions were without a leader for {without[gentle]} s in all, and {failed[gentle]} "
        f"sends failed; with {hard} {without[hard]} s and {failed[hard]} sends",
        figures={
            **{f"without a leader, {name} (s)": seconds for name, seconds in without.items()},
            **{f"failed sends, {name}": count for name, count in failed.items()},
        },
        picture=Picture(groups=groups, span=max(window.span for window in windows.values())),
    )


def _restart(
    context: ScenarioContext,
    topic: str,
    partition: int,
    node: int,
    way: Callable[[ScenarioContext, int], AbstractContextManager[None]],
) -> Away:
    """The broker goes and returns, is in sync again, and leads its partition again."""
    exercised(context.view(topic, partition).leader == node, f"broker {node} does not lead its partition")
    other = next(each for each in context.cluster.brokers if each != node)
    with way(context, node):
        began = time.monotonic()
        context.require(
            lambda: context.view(topic, partition, at=other).leader not in (-1, node), 20, "another leader"
        )
        ended = time.monotonic()
    partitions = range(len(context.cluster.brokers))
    context.require(
        lambda: all(node in context.view(topic, number, at=other).isr for number in partitions),
        30,
        f"broker {node} is in sync again",
    )
    context.cluster.kafka.elect(topic, partition, unclean=False)
    context.require(lambda: context.view(topic, partition).leader == node, 10, f"broker {node} leads again")
    return Away(node, began, ended)


def leaderless(samples: list[timeline.Sample], window: timeline.Window, away: list[Away]) -> float:
    """Seconds in which a partition had no leader, or one that was not there."""
    within = [each for each in samples if window.covers(each.at)]
    ends = [each.at for each in within[1:]] + [window.ended]
    return sum(
        end - each.at
        for each, end in zip(within, ends, strict=True)
        if each.leader < 0 or any(gone.covers(each) for gone in away)
    )


CLAIM = Claim(
    id="D10",
    title="controlled shutdown moves leadership first",
    text="A controlled shutdown moves leadership away before the broker ends. So while all brokers are restarted one "
    "after the other, partitions are without a leader for less time, and fewer sends fail, than when brokers are "
    "killed.",
    source="https://kafka.apache.org/documentation/#basic_ops_restarting",
    cases=CURRENT,
    show=show,
)
