"""A member of a group has six partitions, and another one joins: with an eager and with a cooperative assignor.

Exercised: the second member got partitions both times.
"""

from __future__ import annotations

from typing import Any

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext

PARTITIONS = 6


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(*[context.brokers] * PARTITIONS)
    eager = _given_up(context, topic, "eager", RangePartitionAssignor)
    cooperative = _given_up(context, topic, "cooperative", CooperativeStickyAssignor)
    return Answer(
        holds=(eager, cooperative) == (PARTITIONS, PARTITIONS // 2),
        seen=f"when the second member joined, the first one gave up {eager} of {PARTITIONS} partitions with the "
        f"eager assignor, {cooperative} with the cooperative one",
        figures={"given up, eager": eager, "given up, cooperative": cooperative},
    )


def _given_up(context: ScenarioContext, topic: str, name: str, assignor: Any) -> int:
    """Partitions that the first member of a group gives up when a second one joins."""
    group = f"{topic}-{name}"
    first = context.member(group, topic, partition_assignment_strategy=(assignor,))
    context.require(lambda: len(first.partitions) == PARTITIONS, 20, "all partitions are assigned")
    events = len(first.events)
    second = context.member(group, topic, partition_assignment_strategy=(assignor,))
    context.require(
        lambda: len(first.partitions) == len(second.partitions) == PARTITIONS // 2,
        20,
        "both members have half of the partitions",
    )
    return sum(len(each.partitions) for each in first.events[events:] if each.kind == "revoked")


CLAIM = Claim(
    id="F7",
    title="eager and cooperative rebalancing",
    text="With eager rebalancing members give up all partitions at each change; with cooperative rebalancing "
    "only those that move, and the others go on.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol",
    cases=CURRENT,
    show=show,
)
