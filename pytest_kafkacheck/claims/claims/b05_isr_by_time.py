"""A follower stands still while 5,000 records are written; later it gets none for a while, while few are written.

Exercised: the follower was thousands of records behind in the first part, and left the ISR in the second.
"""

from __future__ import annotations

import time
from typing import Any

from nemesis.faults.partition import partition
from nemesis.faults.pause import pause
from pytest_kafkacheck.claims import timeline
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.report.lane import Group

FLOOD = 5000
LAG_TIME = 2.0
"""replica.lag.time.max.ms of the cluster, in s."""

TOLERANCE = 1.0
"""Seconds for the proof of the cut, and for metadata to spread."""


LENGTH = 8.0
"""Seconds of the picture from the beginning of each part."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    producer = context.producer(acks=1, enable_idempotence=False, linger_ms=5)
    producer.send(topic, b"first", partition=0).get(timeout=10)
    with timeline.sampled(context, topic) as samples:
        return _seen(context, topic, producer, samples)


def _seen(context: ScenarioContext, topic: str, producer: Any, samples: list[timeline.Sample]) -> Answer:
    leader, follower, other = context.view(topic).replicas
    flooded = time.monotonic()
    with context.cluster.fault(pause(follower)):
        for _ in range(FLOOD):
            producer.send(topic, b"x", partition=0)
        producer.flush(timeout=10)
        kept = follower in context.view(topic, at=leader).isr
    caught_up = context.require(
        lambda: context.end(topic, follower) > FLOOD, 20, "the follower has all records after it stood still"
    )
    context.cluster.wait_settled()
    writer = context.writer(topic, acks=1)
    began = time.monotonic()
    with context.cluster.fault(partition([[leader], [follower]], plane="replication")):
        context.require(
            lambda: follower not in context.view(topic, at=leader).isr, 10, "the follower leaves the ISR"
        )
        left = time.monotonic() - began
        exercised(other in context.view(topic, at=leader).isr, "the other follower left the ISR as well")
    returned = context.wait(lambda: follower in context.view(topic, at=leader).isr, LENGTH)
    context.wait(lambda: time.monotonic() > began + LENGTH, LENGTH)
    ended = time.monotonic()
    written = len(writer.stop())
    exercised(written < FLOOD, f"{written} records in the second part")

    def group(title: str, since: float, until: float) -> Group:
        window = timeline.Window(since, min(until, since + LENGTH))
        return Group(title=title, lanes=(timeline.replicas(samples, context.brokers, window),))

    return Answer(
        holds=kept and LAG_TIME <= left <= 1.5 * LAG_TIME + TOLERANCE and returned is not None,
        seen=f"{FLOOD} records behind, the follower was {'still' if kept else 'not'} in sync, and had them "
        f"{caught_up:.1f} s later; with fewer than {written} records behind it left after {left:.1f} s, and "
        f"{'was in sync again when it had them' if returned is not None else 'did not return'}",
        figures={"left the ISR after (s)": round(left, 1), "records behind, in sync": FLOOD},
        picture=Picture(
            groups=(
                group(f"Broker {follower} stands still while {FLOOD:,} records are written", flooded, began),
                group(
                    f"Broker {follower} gets no records from the leader, while few are written", began, ended
                ),
            ),
            span=round(LENGTH * 1000),
        ),
    )


CLAIM = Claim(
    id="B5",
    title="the ISR shrinks by time",
    text="A follower leaves the ISR when it has not caught up for replica.lag.time.max.ms, at most 1.5 times as "
    "long, whatever the number of records that it is behind. It returns once it has caught up.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-16+-+Automated+Replica+Lag+Tuning",
    cases=CURRENT,
    show=show,
)
