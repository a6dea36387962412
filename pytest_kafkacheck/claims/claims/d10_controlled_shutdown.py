"""In one run the leader is stopped in a controlled way and started, and then the leader is killed.

Exercised: both moved leadership.
"""

from __future__ import annotations

import time

from nemesis.faults.kill import kill
from nemesis.faults.stop import stop
from pytest_kafkacheck.claims import timeline
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import another_leader, more_acks
from pytest_kafkacheck.report.lane import Group

BEFORE, AFTER = 1.0, 7.0
"""Seconds of the picture around the beginning of each fault."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    # Without retries an error of a send is seen, and with them only its delay.
    writer = context.writer(topic, retry_backoff_ms=20)
    gaps, windows = {}, {}
    with timeline.sampled(context, topic) as samples:
        for fault in (stop, kill):
            context.cluster.wait_settled()
            more_acks(context, writer, 50, 15, "50 acks")
            leader = context.view(topic).leader
            other = next(node for node in context.cluster.brokers if node != leader)
            began = time.monotonic()
            windows[fault.__name__] = timeline.Window(began - BEFORE, began + AFTER)
            with context.cluster.fault(fault(leader)):
                another_leader(context, topic, leader, at=other)
                more_acks(context, writer, 50, 20, "writes go on")
                gaps[fault.__name__] = writer.longest_gap(since=began)
                context.wait(lambda end=began + AFTER: time.monotonic() > end, AFTER)  # type: ignore[misc]
    acked = writer.stop()
    moments = [ack.at for ack in acked]
    groups = tuple(
        Group(
            title=f"{title} at {BEFORE:g} s",
            lanes=(
                timeline.replicas(samples, context.brokers, windows[name]),
                timeline.rate("acknowledged", moments, windows[name]),
            ),
        )
        for name, title in (("stop", "Controlled shutdown of the leader"), ("kill", "Kill of the leader"))
    )
    return Answer(
        holds=gaps["stop"] < gaps["kill"] / 2,
        seen=f"no acknowledgement for {gaps['stop']:.1f} s at the controlled shutdown, "
        f"{gaps['kill']:.1f} s at the kill",
        figures={
            "wait at the shutdown (s)": round(gaps["stop"], 2),
            "wait at the kill (s)": round(gaps["kill"], 2),
        },
        picture=Picture(groups=groups, span=round((BEFORE + AFTER) * 1000)),
    )


CLAIM = Claim(
    id="D10",
    title="controlled shutdown moves leadership first",
    text="A controlled shutdown moves leadership away before the broker ends, so clients wait for less time "
    "than after a kill.",
    source="https://kafka.apache.org/documentation/#basic_ops_restarting",
    cases=CURRENT,
    show=show,
)
