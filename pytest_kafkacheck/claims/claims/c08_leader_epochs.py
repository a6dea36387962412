"""Leadership moves twice a second under load; every record is read with the leader epoch of its batch, and the leader
is asked where each epoch ends.

Exercised: records were written in more than three leader epochs.
"""

from __future__ import annotations

import time
from itertools import pairwise

from kafka import TopicPartition
from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from nemesis.faults.leader_storm import leader_storm
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

EPOCHS, LIMIT = 8, 20.0
"""It goes on until so many leader epochs were seen, for so many seconds at most."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    writer = context.writer(topic)
    leaders: dict[int, set[int]] = {}
    with context.cluster.fault(leader_storm(f"partition:{topic}-0", every=0.5)):
        until = time.monotonic() + LIMIT
        while time.monotonic() < until and len(leaders) < EPOCHS:
            for node in context.cluster.brokers:
                view = context.view(topic, at=node)
                if view.leader >= 0:
                    leaders.setdefault(view.leader_epoch, set()).add(view.leader)
    writer.stop()
    context.cluster.wait_settled()
    log, consumer = TopicPartition(topic, 0), context.consumer(topic)
    leader = context.view(topic).leader
    end = context.end(topic, leader)
    first: dict[int, int] = {}
    epochs: list[int] = []

    def is_read() -> bool:
        for record in consumer.poll(timeout_ms=200).get(log, ()):
            epochs.append(record.leader_epoch)
            first.setdefault(record.leader_epoch, record.offset)
        return bool(consumer.position(log) >= end)

    context.require(is_read, 20, "everything is read")
    exercised(len(first) > 3, f"records of {len(first)} leader epochs")
    # An epoch ends where the next one with records begins.
    written = sorted(first)
    wrong = sum(_end(context, topic, leader, epoch) != first[after] for epoch, after in pairwise(written))
    several = [epoch for epoch, nodes in leaders.items() if len(nodes) > 1]
    return Answer(
        holds=epochs == sorted(epochs) and not several and not wrong,
        seen=f"{len(leaders)} leader epochs with one leader each but {len(several)}; {wrong} of {len(first) - 1} "
        f"epochs end elsewhere than the leader says",
        figures={"leader epochs": len(leaders), "with two leaders": len(several), "wrong ends": wrong},
    )


def _end(context: ScenarioContext, topic: str, leader: int, epoch: int) -> int:
    Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    request = OffsetForLeaderEpochRequest(
        version=3,
        replica_id=-1,
        topics=[
            Topic(
                topic=topic,
                partitions=[
                    Topic.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=epoch)
                ],
            )
        ],
    )
    return int(context.ask(leader)(request).topics[0].partitions[0].end_offset)


CLAIM = Claim(
    id="C8",
    title="leader epochs",
    text="Every change of the leader raises the leader epoch, an epoch has one leader, and the records of an epoch "
    "are a connected part of the log, of which the leader knows the end.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-101+-+Alter+Replication+Protocol+to+use+Leader+"
    "Epoch+rather+than+High+Watermark+for+Truncation",
    cases=CURRENT,
    show=show,
)
