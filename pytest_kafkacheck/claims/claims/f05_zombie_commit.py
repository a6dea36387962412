"""A member of an older generation commits a lower position, by a request of its own, after another member has joined.

Exercised: the generation grew, and a commit of the present generation was accepted before.
"""

from __future__ import annotations

from kafka import TopicPartition
from kafka.protocol.consumer import OffsetCommitRequest
from kafka.structs import OffsetAndMetadata

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING = 22, 25, 27
"""Error codes."""

POSITION, LOWER = 50, 10


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers)
    log, group = TopicPartition(topic, 0), f"{topic}-group"
    context.write(topic, (f"v{number}" for number in range(POSITION)))
    member = context.member(group, topic)
    context.require(lambda: len(member.partitions) == 2, 20, "the first member has both partitions")
    coordinator = context.cluster.coordinator("group", group)
    assert coordinator is not None
    old, identity = member.generation, member.identity

    def commit(offset: int, generation: int) -> int:
        Topic = OffsetCommitRequest.OffsetCommitRequestTopic
        request = OffsetCommitRequest(
            version=5,
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=identity,
            topics=[
                Topic(
                    name=topic,
                    partitions=[
                        Topic.OffsetCommitRequestPartition(
                            partition_index=0, committed_offset=offset, committed_metadata=""
                        )
                    ],
                )
            ],
        )
        return int(context.ask(coordinator)(request).topics[0].partitions[0].error_code)

    accepted = commit(POSITION, old)
    exercised(accepted == 0, f"the commit of the present generation was refused with error {accepted}")
    context.member(group, topic)
    context.require(lambda: member.generation > old and len(member.partitions) == 1, 20, "a later generation")
    code = commit(LOWER, old)
    reader = context.consumer(group_id=group)
    committed = reader.committed(log)
    found = committed.offset if isinstance(committed, OffsetAndMetadata) else committed
    return Answer(
        holds=code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER) and found == POSITION,
        seen=f"a commit of generation {old} in generation {member.generation} was answered with error {code}; the "
        f"committed position is {found}",
        figures={"error": code, "committed": str(found)},
    )


CLAIM = Claim(
    id="F5",
    title="the commit of a zombie is refused",
    text="A member of an older generation cannot commit: its commit is refused, and the committed position "
    "does not go back.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Client-side+Assignment+Proposal",
    cases=CURRENT,
    show=show,
)
