"""A broker that leads partitions with different orders of replicas is killed.

Exercised: it led all of them, and every replica was in sync.
"""

from __future__ import annotations

from nemesis.faults.kill import kill
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext


def show(context: ScenarioContext) -> Answer:
    first, second, third = context.brokers
    layouts = [(first, second, third), (first, third, second)] * 3
    topic = context.topic(*layouts)
    with context.cluster.fault(kill(first)):
        took = context.require(
            lambda: all(
                context.view(topic, number, at=second).leader not in (-1, first)
                for number in range(len(layouts))
            ),
            20,
            "every partition has another leader",
        )
        leaders = [context.view(topic, number, at=second).leader for number in range(len(layouts))]
    by_rule = sum(leader == layout[1] for leader, layout in zip(leaders, layouts, strict=True))
    return Answer(
        holds=by_rule == len(layouts),
        seen=f"{by_rule} of {len(layouts)} partitions got the second replica in assignment order as leader",
        figures={"by the rule": f"{by_rule} of {len(layouts)}", "after (s)": round(took, 1)},
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
