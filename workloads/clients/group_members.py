"""What the coordinator of a group reports of it: which member has which partitions, and the committed positions.

Of groups of the classic protocol, which Kafka's clients use by default, and of KIP-848. See `requests`.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer import ConsumerProtocolAssignment, OffsetFetchRequest

from workloads.clients.coordination import highest_version
from workloads.clients.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from workloads.clients.protocol import Log
from workloads.clients.requests import Ask

CONSUMERS = "consumer"
"""Protocol type of groups whose members are consumers."""


class GroupMember(NamedTuple):
    """client: its client.id. instance: its group.instance.id; None for none."""

    member: str
    client: str
    instance: str | None


def owners(ask: Ask, group: str) -> Mapping[Log, GroupMember] | None:
    """By partition the member that has it. A partition is missing while it moves: in a group of the classic protocol
    all of them at the same time, as members have no assignment while it rebalances.

    None where the broker is not the coordinator, or the group is no group of consumers.
    """
    (described,) = ask(DescribeGroupsRequest(version=5, groups=[group])).groups
    if described.error_code:
        return None
    if described.protocol_type != CONSUMERS:
        # In this version of the request, a group of KIP-848 is one that does not exist.
        return _next_generation_owners(ask, group)
    found: dict[Log, GroupMember] = {}
    for each in described.members:
        member = GroupMember(each.member_id, each.client_id, each.group_instance_id)
        found |= dict.fromkeys(assigned(each.member_assignment), member)
    return found


def _next_generation_owners(ask: Ask, group: str) -> Mapping[Log, GroupMember] | None:
    if highest_version(ask, ConsumerGroupDescribeRequest.API_KEY) < 0:
        return None
    request = ConsumerGroupDescribeRequest(version=0, group_ids=[group], include_authorized_operations=False)
    (described,) = ask(request).groups
    if described.error_code:
        return None
    return {
        (topic.topic_name, int(number)): GroupMember(each.member_id, each.client_id, each.instance_id)
        for each in described.members
        for topic in each.assignment.topic_partitions
        for number in topic.partitions
    }


def positions(ask: Ask, group: str, logs: Collection[Log]) -> Mapping[Log, int] | None:
    """Those of these partitions that have one. None where the broker is not the coordinator."""
    topics: dict[str, list[int]] = {}
    for name, number in logs:
        topics.setdefault(name, []).append(number)
    Topic = OffsetFetchRequest.OffsetFetchRequestTopic
    wanted = [Topic(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
    answer = ask(OffsetFetchRequest(version=5, group_id=group, topics=wanted))
    if answer.error_code:
        return None
    return {
        (topic.name, partition.partition_index): int(partition.committed_offset)
        for topic in answer.topics
        for partition in topic.partitions
        if not partition.error_code and partition.committed_offset >= 0
    }


def assigned(assignment: bytes | None) -> list[Log]:
    """The partitions that a member has. None of a member whose library writes assignments of its own format."""
    try:
        decoded = ConsumerProtocolAssignment.decode(assignment) if assignment else None
    except (struct.error, ValueError, TypeError, IndexError):
        return []
    return [] if decoded is None else [(topic, int(number)) for topic, number in decoded.partitions()]
