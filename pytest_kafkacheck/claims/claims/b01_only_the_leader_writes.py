"""A produce request goes straight to each follower, and then to the leader.

Exercised: the leader accepts the same request.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import NOT_LEADER


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader, *followers = context.view(topic).replicas
    codes = {node: context.produce(topic, node, "to a follower")[0] for node in followers}
    ends = {node: context.end(topic, node) for node in followers}
    exercised(
        context.produce(topic, leader, "to the leader", limit=10)[0] == 0,
        "the leader refused the request as well",
    )
    refused = [node for node, code in codes.items() if code == NOT_LEADER]
    return Answer(
        holds=refused == followers and not any(ends.values()) and len(context.read(topic)) == 1,
        seen=f"{len(refused)} of {len(followers)} followers answered NOT_LEADER_OR_FOLLOWER, and had "
        f"{sum(ends.values())} records",
        figures={"refused": len(refused), "appended": sum(ends.values())},
    )


CLAIM = Claim(
    id="B1",
    title="only the leader takes writes",
    text="Only the leader of a partition takes writes. A follower refuses them and appends nothing.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=BOTH_MODES,
    show=show,
)
