"""Each replica is asked for its high watermark and then for its log end, while four producers write.

Exercised: on some replica the log end was above the high watermark.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

SECONDS = 5.0


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    writers = [context.writer(topic, prefix=name, acks=1) for name in "abcd"]
    samples, above, below = 0, 0, 0
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        for node in context.cluster.brokers:
            # The other way round, the log could grow between the two requests.
            mark = context.marks(topic, node).high_watermark
            end = context.end(topic, node)
            samples, above, below = samples + 1, above + (mark > end), below + (mark < end)
    for writer in writers:
        writer.stop()
    exercised(samples > 50 and below > 0, f"{samples} samples, the mark was below the end in {below}")
    return Answer(
        holds=not above,
        seen=f"in {above} of {samples} samples the high watermark was above the log end",
        figures={"samples": samples, "mark below the end": below, "mark above the end": above},
    )


CLAIM = Claim(
    id="C1",
    title="high watermark and log end",
    text="On every replica the high watermark is at most the log end offset, at any time.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=CURRENT,
    show=show,
)
