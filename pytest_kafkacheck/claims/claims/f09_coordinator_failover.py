"""A group commits a position, and its coordinator is killed.

Exercised: another broker became the coordinator.
"""

from __future__ import annotations

import time

from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from nemesis.faults.kill import kill
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext

POSITION = 17


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    log, group = TopicPartition(topic, 0), f"{topic}-group"
    context.write(topic, (f"v{number}" for number in range(POSITION)))
    consumer = context.consumer(group_id=group)
    consumer.assign([log])
    consumer.commit({log: OffsetAndMetadata(POSITION, "", -1)})
    before = context.cluster.coordinator("group", group)
    assert before is not None
    found: list[int] = []
    began = time.monotonic()
    with context.cluster.fault(kill(before)):
        moved = context.require(
            lambda: context.cluster.coordinator("group", group) not in (None, before),
            20,
            "another coordinator",
        )

        def is_read() -> bool:
            committed = consumer.committed(log, timeout_ms=3000)
            found.append(committed.offset if isinstance(committed, OffsetAndMetadata) else committed)
            return found[-1] is not None

        read = context.wait(is_read, 15)
        took = time.monotonic() - began
    return Answer(
        holds=read is not None and found[-1] == POSITION,
        seen=f"committed {POSITION}; after the kill of coordinator {before} the position is {found[-1:] or None}",
        figures={"new coordinator after (s)": round(moved, 1), "position read after (s)": round(took, 1)},
    )


CLAIM = Claim(
    id="F9",
    title="the coordinator fails over",
    text="When a coordinator fails, another broker coordinates the group, and the committed positions are "
    "still there.",
    source="https://kafka.apache.org/documentation/#impl_offsettracking",
    cases=CURRENT,
    show=show,
)
