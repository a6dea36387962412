"""Two consumers of a group assign the same partition to themselves. One commits its position, then the other one,
which has stood still, commits an older one.

Exercised: both commits were answered without an error.
"""

from __future__ import annotations

from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext

OLD, NEW = 10, 90


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    log, group = TopicPartition(topic, 0), f"{topic}-group"
    context.write(topic, (f"v{number}" for number in range(NEW)))
    consumers = [context.consumer(group_id=group) for _ in range(2)]
    found = []
    for consumer, offset in zip(consumers, (NEW, OLD), strict=True):
        consumer.assign([log])
        consumer.commit({log: OffsetAndMetadata(offset, "", -1)})
        found.append(_committed(context, group, log))
    return Answer(
        holds=found == [NEW, OLD],
        seen=f"after the commit of {NEW} the position was {found[0]}, and after that of {OLD} {found[1]}",
        figures={"committed first": found[0], "committed last": found[1]},
    )


def _committed(context: ScenarioContext, group: str, log: TopicPartition) -> int:
    committed = context.consumer(group_id=group).committed(log, timeout_ms=10_000)
    return int(getattr(committed, "offset", committed))


CLAIM = Claim(
    id="F11",
    title="commits without membership are not fenced",
    text="A consumer that assigns partitions to itself commits without a generation, so none is too old: one that "
    "stood still sets the position of the group back.",
    source="https://kafka.apache.org/documentation/#design_consumerposition",
    cases=CURRENT,
    show=show,
)
