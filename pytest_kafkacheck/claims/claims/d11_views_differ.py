"""Leadership moves while one broker does not reach the controllers.

Exercised: that broker and the others named different leaders.
"""

from __future__ import annotations

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.kafka import metadata_views


def show(context: ScenarioContext) -> Answer:
    leader, deaf, controller = context.brokers
    topic = context.topic((leader, deaf, controller))
    log = (topic, 0)

    def leaders() -> dict[int, int]:
        views = metadata_views.views(context.cluster.brokers, [topic])
        return {node: view[log].leader for node, view in views.items()}

    with context.cluster.fault(partition([[deaf], [leader, controller]], plane="controller")):
        context.cluster.kafka.reassign(topic, 0, (controller, leader, deaf))
        context.cluster.kafka.elect(topic, 0, unclean=False)
        context.require(lambda: leaders()[controller] == controller, 15, "leadership moved")
        in_the_cut = leaders()
    exercised(len(set(in_the_cut.values())) > 1, f"all brokers name the same leader: {in_the_cut}")
    agree = context.wait(lambda: set(leaders().values()) == {controller} and len(leaders()) == 3, 15)
    return Answer(
        holds=agree is not None,
        seen=f"in the cut brokers named these leaders: {in_the_cut}; afterwards they "
        f"{'agreed' if agree is not None else 'did not agree'}",
        figures={
            "leaders named in the cut": len(set(in_the_cut.values())),
            "agreed after (s)": round(agree or 0, 1),
        },
    )


CLAIM = Claim(
    id="D11",
    title="views agree in the end",
    text="Metadata reaches every broker: their views may differ while something changes, and agree afterwards.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-631%3A+The+Quorum-based+Kafka+Controller",
    cases=CURRENT,
    show=show,
)
