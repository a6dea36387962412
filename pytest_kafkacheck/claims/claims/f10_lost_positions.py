"""Followers get no records of __consumer_offsets, a group goes on committing, and the coordinator is killed. Somebody
asks for an unclean election.

Exercised: a position was committed while the coordinator was alone in the ISR, and another broker coordinates the
group afterwards.
"""

from __future__ import annotations

from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.steps import SHRINK_LIMIT, elect_uncleanly, killed

OFFSETS = "__consumer_offsets"
"""It has one partition here."""

FIRST, LAST = 10, 90


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    log, group = TopicPartition(topic, 0), f"{topic}-group"
    consumer = context.consumer(group_id=group)
    consumer.assign([log])

    def commit(offset: int) -> bool:
        consumer.commit({log: OffsetAndMetadata(offset, "", -1)})
        return True

    context.require(lambda: commit(FIRST), 20, "a position is committed")
    view = context.view(OFFSETS)
    leader, followers = view.leader, [node for node in view.replicas if node != view.leader]
    context.require(
        lambda: all(context.end(OFFSETS, node) == context.end(OFFSETS, leader) for node in followers),
        10,
        "the followers have the position",
    )
    with context.cluster.fault(partition([[leader], followers], plane="replication")):
        # The ISR of an idle partition does not shrink.
        context.require(
            lambda: commit(FIRST + 1) and context.view(OFFSETS, at=leader).isr == (leader,),
            SHRINK_LIMIT,
            "the ISR shrinks to the coordinator",
        )
        context.require(lambda: commit(LAST), 15, "the coordinator alone acknowledges a position")
        with killed(context, leader):
            elect_uncleanly(context, OFFSETS, leader, at=followers[0])
            found: list[int] = []

            def is_read() -> bool:
                committed = context.consumer(group_id=group).committed(log, timeout_ms=3000)
                found.append(getattr(committed, "offset", committed))
                return found[-1] is not None

            context.require(is_read, 20, "the position is read")
    context.cluster.wait_settled()
    return Answer(
        holds=FIRST <= found[-1] < LAST,
        seen=f"the position {LAST} was committed, and afterwards it was {found[-1]}",
        figures={"committed": LAST, "read afterwards": found[-1]},
    )


CLAIM = Claim(
    id="F10",
    title="committed positions can be lost",
    text="__consumer_offsets has the min.insync.replicas of the brokers, which is 1 by default. Then an unclean "
    "election of its leader loses committed positions: the group handles records again.",
    source="https://kafka.apache.org/documentation/#brokerconfigs_min.insync.replicas",
    cases=CURRENT,
    show=show,
)
