"""A member of a group has six partitions, and another one joins: with an eager assignor, with a cooperative one, and,
if confluent-kafka is installed, with the protocol of KIP-848.

The textbook adds that the other partitions are read meanwhile. That depends on the client, so it is a figure and not
part of the claim: kafka-python stops reading for about a second, also from partitions that stay assigned to it.

Exercised: the second member got partitions each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from pytest_kafkacheck.claims import next_generation, timeline
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.members import Member
from pytest_kafkacheck.report.lane import Group, Row, Strip

PARTITIONS = 6
BEFORE, AFTER = 1.0, 10.0
"""Seconds of the picture around the join. With KIP-848 heartbeats are five seconds apart by default."""

ASSIGNORS = {"eager": RangePartitionAssignor, "cooperative": CooperativeStickyAssignor}

PAUSE = 0.25
"""Seconds without a record that are drawn as a gap; a record is written to each partition every 0.06 s."""


class Joined(NamedTuple):
    """given_up: partitions that the first member lost. gap: the longest time without a record of a partition that it
    kept, in s."""

    given_up: int
    gap: float
    group: Group


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(*[context.brokers] * PARTITIONS)
    writer = context.writer(topic, partitions=PARTITIONS)
    joined = {}
    for name, assignor in ASSIGNORS.items():
        joins = partial(context.member, f"{topic}-{name}", topic, partition_assignment_strategy=(assignor,))
        joined[name] = _join(context, name, joins)
    if next_generation.is_installed():
        joins = partial(context.next_generation_member, f"{topic}-next-generation", topic)
        joined["KIP-848"] = _join(context, "KIP-848", joins)
    writer.stop()
    found = {name: each.given_up for name, each in joined.items()}
    return Answer(
        holds=all(
            number == (PARTITIONS if name == "eager" else PARTITIONS // 2) for name, number in found.items()
        ),
        seen="when the second member joined, the first one gave up "
        + ", ".join(
            f"{each.given_up} of {PARTITIONS} partitions ({name}), and those that it kept or got back were not read "
            f"for {each.gap:.1f} s"
            for name, each in joined.items()
        ),
        figures={
            **{f"given up, {name}": each.given_up for name, each in joined.items()},
            **{f"kept and not read, {name} (s)": round(each.gap, 2) for name, each in joined.items()},
        },
        picture=Picture(
            groups=tuple(each.group for each in joined.values()), span=round((BEFORE + AFTER) * 1000)
        ),
    )


def _join(context: ScenarioContext, name: str, member: Callable[[], Member]) -> Joined:
    """A member has all partitions of a group, and a second one joins. member: starts one."""
    first = member()
    context.require(lambda: len(first.partitions) == PARTITIONS, 20, "all partitions are assigned")
    context.require(lambda: len(first.consumed) > 100, 20, "the first member reads")
    context.wait(lambda: False, BEFORE)
    events, began = len(first.events), time.monotonic()
    second = member()
    context.require(
        lambda: len(first.partitions) == len(second.partitions) == PARTITIONS // 2,
        AFTER,
        "both members have half of the partitions",
    )
    kept = first.partitions
    context.wait(lambda: time.monotonic() > began + AFTER, AFTER)
    given_up = sum(len(each.partitions) for each in first.events[events:] if each.kind == "revoked")
    window = timeline.Window(began - BEFORE, began + AFTER)
    times = {
        number: [
            sorted(at for at, partition, _ in member.consumed if partition == number and window.covers(at))
            for member in (first, second)
        ]
        for number in range(PARTITIONS)
    }
    first.leave()
    second.leave()
    gaps = [after - before for number in kept for before, after in pairwise(times[number][0])]
    rows = tuple(
        Row(
            name=f"partition {number}",
            spans=(
                *timeline.bursts(of_first, window, pause=PAUSE),
                *timeline.bursts(of_second, window, pause=PAUSE, look="in-sync"),
            ),
        )
        for number, (of_first, of_second) in times.items()
    )
    title = f"{name[0].upper()}{name[1:]}: reads of the first member (green) and of the second (blue), which joins at"
    return Joined(
        given_up,
        max(gaps, default=0.0),
        Group(title=f"{title} {BEFORE:g} s", lanes=(Strip(title="", about="", rows=rows),)),
    )


CLAIM = Claim(
    id="F7",
    title="eager and cooperative rebalancing",
    text="With eager rebalancing members give up all partitions at each change; with cooperative rebalancing, "
    "and with the protocol of KIP-848, only those that move.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol",
    cases=CURRENT,
    show=show,
)
