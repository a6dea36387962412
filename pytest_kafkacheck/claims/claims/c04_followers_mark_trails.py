"""A record is written with acks=all after silence, and a follower is asked for its high watermark at once; 20 times.

Exercised: all writes were acknowledged, and the leader's high watermark includes them.
"""

from __future__ import annotations

from statistics import median

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

WRITES = 20
FETCH_WAIT_MS = 100
"""replica.fetch.wait.max.ms of the cluster."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader, follower, _ = context.view(topic).replicas
    producer = context.producer()
    trailing, delays = 0, []
    for _ in range(WRITES):
        offset = producer.send(topic, b"v", partition=0).get(timeout=10).offset
        trailing += context.marks(topic, follower).high_watermark <= offset
        exercised(
            context.marks(topic, leader).high_watermark > offset, "the leader's mark is below the record"
        )
        waited = context.require(
            lambda offset=offset: context.marks(topic, follower).high_watermark > offset,  # type: ignore[misc]
            5,
            "the follower's mark includes the record",
        )
        delays.append(waited * 1000)
    middle, worst = median(delays), max(delays)
    return Answer(
        holds=trailing >= WRITES // 2 and middle < 3 * FETCH_WAIT_MS,
        seen=f"right after the acknowledgement the follower's mark was below the record in {trailing} of {WRITES}; "
        f"it had it after {middle:.0f} ms (median), {worst:.0f} ms at most",
        figures={
            "trailing": f"{trailing} of {WRITES}",
            "median (ms)": round(middle),
            "most (ms)": round(worst),
        },
    )


CLAIM = Claim(
    id="C4",
    title="a follower's mark trails",
    text="A follower learns the high watermark with its next fetch, so its own trails the leader's by a round: after "
    "silence by replica.fetch.wait.max.ms.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-392%3A+Allow+consumers+to+fetch+from+closest+replica",
    cases=CURRENT,
    show=show,
)
