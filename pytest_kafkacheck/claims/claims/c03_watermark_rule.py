"""One of two followers stands still, and the leader appends ten records with acks=1.

Exercised: the follower that stands still is still in the ISR, and its log end is below that of the others.
"""

from __future__ import annotations

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

BEFORE, MORE = 20, 10


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader, running, paused = context.view(topic).replicas
    context.write(topic, (f"v{number}" for number in range(BEFORE)))
    total = BEFORE + MORE
    context.require(
        lambda: all(
            context.marks(topic, node).high_watermark == BEFORE for node in (leader, running, paused)
        ),
        5,
        "all replicas have the high watermark of the records",
    )
    with context.cluster.fault(pause(paused)):
        for number in range(MORE):
            context.produce(topic, leader, f"more{number}", acks=1)
        context.require(lambda: context.end(topic, running) == total, 1, "the other follower has all records")
        at_first = context.marks(topic, leader).high_watermark
        exercised(len(context.view(topic, at=leader).isr) == 3, "the ISR shrank before the mark was read")
        shrunk = context.require(
            lambda: set(context.view(topic, at=leader).isr) == {leader, running}, 10, "the ISR shrinks"
        )
        at_last = context.wait(lambda: context.marks(topic, leader).high_watermark == total, 2)
    return Answer(
        holds=at_first == BEFORE and at_last is not None,
        seen=f"with the slow follower in the ISR the high watermark was {at_first} of {total}; after it had left, "
        f"{total if at_last is not None else 'less'}",
        figures={
            "mark with the slow follower": at_first,
            "log end": total,
            "ISR shrank after (s)": round(shrunk, 1),
        },
    )


CLAIM = Claim(
    id="C3",
    title="rule of the high watermark",
    text="The leader's high watermark is the lowest log end offset in the ISR. One slow follower holds it back, "
    "until it has left the ISR.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=BOTH_MODES,
    show=show,
)
