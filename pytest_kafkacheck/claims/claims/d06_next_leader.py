"""A broker that leads partitions with different orders of replicas is killed. It was cut off from another broker,
which has left the ISR of the partitions that are written, and is still in sync in those that are not.

Exercised: before the kill the ISR of the written partitions lacked the broker that was cut off, which was alive, and
that of the others was full.
"""

from __future__ import annotations

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import ELECTION_LIMIT, SHRINK_LIMIT, killed

WRITTEN = 2
"""Partitions that are written, one of each order of replicas."""


def show(context: ScenarioContext) -> Answer:
    first, second, third = context.brokers
    layouts = [(first, second, third), (first, third, second)] * 2
    topic = context.topic(*layouts)
    numbers = range(len(layouts))
    writer = context.writer(topic, partitions=WRITTEN)
    context.require(lambda: len(writer.acks) > 20, 15, "writes are acknowledged")
    with context.cluster.fault(partition([[first], [second]], plane="replication")):
        context.require(
            lambda: all(
                set(context.view(topic, number, at=first).isr) == {first, third} for number in range(WRITTEN)
            ),
            SHRINK_LIMIT,
            f"broker {second} leaves the ISR of the written partitions",
        )
        isrs = [set(context.view(topic, number, at=third).isr) for number in numbers]
        exercised(all(len(isr) == 3 for isr in isrs[WRITTEN:]), f"the ISRs are {isrs}")
        exercised(context.cluster.answers(second), f"broker {second} does not answer")
        with killed(context, first):
            took = context.require(
                lambda: all(
                    context.view(topic, number, at=third).leader not in (-1, first) for number in numbers
                ),
                ELECTION_LIMIT,
                "every partition has another leader",
            )
            leaders = [context.view(topic, number, at=third).leader for number in numbers]
    by_rule = [
        next(node for node in layout if node in isr and node != first)
        for layout, isr in zip(layouts, isrs, strict=True)
    ]
    right = sum(leader == rule for leader, rule in zip(leaders, by_rule, strict=True))
    skipped = sum(leader != layout[1] for leader, layout in zip(leaders, layouts, strict=True))
    return Answer(
        holds=right == len(layouts) and skipped == 1,
        seen=f"{right} of {len(layouts)} partitions got the first replica in the ISR, in the order of assignment, as "
        f"leader; in {skipped} of them a live one before it was skipped, because it was out of sync",
        figures={
            "by the rule": f"{right} of {len(layouts)}",
            "skipped, out of sync": skipped,
            "after (s)": round(took, 1),
        },
    )


CLAIM = Claim(
    id="D6",
    title="the next leader",
    text="When a broker fails, each partition that it led gets the first live in-sync replica in the order of its "
    "assignment as leader.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Controller+Internals",
    cases=CURRENT,
    show=show,
)
