"""Two groups commit a position that is to be kept for a second: one has a member, and one is empty. Then the member
leaves.

The request says how long, which versions 2 to 4 of it can: offsets.retention.minutes is a minute at least.

Exercised: the position of the empty group expired.
"""

from __future__ import annotations

import time

from kafka.protocol.consumer import OffsetCommitRequest

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from workloads.clients import coordination, described_groups

POSITION = 17
RETENTION = 1.0
LONGER = 3.0
"""Seconds for which the position of the group with a member is watched after that of the empty one is gone."""

CHECKS = {"offsets.retention.check.interval.ms": "500"}


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    group, empty = f"{topic}-stable", f"{topic}-empty"
    member = context.member(group, topic)
    context.require(lambda: len(member.partitions) == 1, 20, "the member has the partition")
    asks = {name: context.ask(_coordinator(context, name)) for name in (group, empty)}
    committing = {group: (member.generation, member.identity), empty: (-1, "")}
    for name, (generation, identity) in committing.items():
        code = asks[name](_commit(name, topic, generation, identity)).topics[0].partitions[0].error_code
        exercised(code == 0, f"the commit of {name} was refused with error {code}")
    began = time.monotonic()

    def is_gone(name: str) -> bool:
        return described_groups.positions(asks[name], name, [(topic, 0)]) == {}

    context.require(lambda: is_gone(empty), 20, "the position of the empty group expires")
    expired = time.monotonic() - began
    lost = context.wait(lambda: is_gone(group), LONGER)
    state = coordination.state(asks[group], "group", group)
    exercised(state == "Stable", f"the group with a member is {state}")
    kept = time.monotonic() - began
    member.leave()
    left = context.wait(lambda: is_gone(group), 20)
    return Answer(
        holds=lost is None and left is not None,
        seen=f"the position of the empty group expired after {expired:.1f} s; that of the group with a member was "
        f"{'kept' if lost is None else 'lost'} for {kept:.1f} s, and "
        f"{'is still there' if left is None else f'expired {left:.1f} s after the member had left'}",
        figures={
            "empty group, expired after (s)": round(expired, 1),
            "with a member, kept for (s)": round(kept, 1),
            "expired after it left (s)": round(left or 0, 1),
        },
    )


def _coordinator(context: ScenarioContext, group: str) -> int:
    found: list[int] = []

    def is_known() -> bool:
        found.extend(node for node in [context.cluster.coordinator("group", group)] if node is not None)
        return bool(found)

    context.require(is_known, 15, f"the coordinator of {group}")
    return found[0]


def _commit(group: str, topic: str, generation: int, identity: str) -> OffsetCommitRequest:
    Topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = Topic.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=POSITION, committed_metadata=""
    )
    return OffsetCommitRequest(
        version=2,
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=identity,
        retention_time_ms=int(RETENTION * 1000),
        topics=[Topic(name=topic, partitions=[partition])],
    )


CLAIM = Claim(
    id="F6",
    title="offsets expire only while the group is empty",
    text="Committed positions expire while the group has no members, and not while it has some, however old they "
    "are.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-211%3A+Revise+Expiration+Semantics+of+Consumer+Group+Offsets",
    cases=(
        Case(name="4.1.1", cluster=ClusterSpec(config=CHECKS)),
        Case(name="2.8.2 ZooKeeper", cluster=ClusterSpec(version="2.8.2", zookeepers=1, config=CHECKS)),
    ),
    show=show,
)
