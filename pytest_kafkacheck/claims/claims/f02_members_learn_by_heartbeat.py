"""Five times a second member joins a group; the coordinator is asked for the group's state, again and again.

Exercised: the group was seen in PreparingRebalance each time.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.report.lane import Group, Row, Span, Strip
from workloads.clients import coordination

JOINS, HEARTBEAT = 5, 1.0

MARGIN = 0.5
"""Seconds for a poll of the member, and for a busy machine."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers)
    group = f"{topic}-group"
    settings = {"session_timeout_ms": 6000, "heartbeat_interval_ms": int(HEARTBEAT * 1000)}
    member = context.member(group, topic, **settings)
    context.require(lambda: len(member.partitions) == 2, 20, "the first member has both partitions")
    coordinator = context.cluster.coordinator("group", group)
    assert coordinator is not None
    ask, delays = context.ask(coordinator), []
    for _ in range(JOINS):
        events = len(member.events)
        joining = context.member(group, topic, **settings)
        context.require(
            lambda: coordination.state(ask, "group", group) == "PreparingRebalance",
            10,
            "the rebalance begins",
        )
        began = time.monotonic()
        context.require(
            lambda events=events: any(each.kind == "revoked" for each in member.events[events:]),  # type: ignore[misc]
            20,
            "the first member's partitions are revoked",
        )
        delays.append(max(0.0, member.events[events].at - began))
        context.require(lambda: len(member.partitions) == 1, 20, "both members have a partition")
        joining.leave()
        context.require(lambda: len(member.partitions) == 2, 20, "the first member has both partitions again")
    worst = max(delays)
    rows = tuple(
        Row(
            name=f"join {number}",
            spans=(Span(begin=0, end=round(delay * 1000), look="out", text="does not know of it"),),
        )
        for number, delay in enumerate(delays, start=1)
    )
    title = (
        f"From the beginning of the rebalance to the answer of the next heartbeat, due every {HEARTBEAT:g} s"
    )
    return Answer(
        holds=worst <= HEARTBEAT + MARGIN,
        seen=f"after {JOINS} joins the other member's partitions were revoked within {worst:.2f} s; "
        f"heartbeat.interval.ms is {HEARTBEAT:g} s",
        figures={"slowest (s)": round(worst, 2), "heartbeat interval (s)": HEARTBEAT},
        picture=Picture(
            groups=(Group(title=title, lanes=(Strip(title="", about="", rows=rows),)),),
            span=round((HEARTBEAT + MARGIN) * 1000),
        ),
    )


CLAIM = Claim(
    id="F2",
    title="members learn by heartbeat",
    text="Members learn of a rebalance from the answer to their next heartbeat, so within heartbeat.interval.ms.",
    source="https://kafka.apache.org/documentation/#consumerconfigs_heartbeat.interval.ms",
    cases=CURRENT,
    show=show,
)
