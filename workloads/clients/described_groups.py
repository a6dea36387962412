"""What the coordinator of a group reports of it: its state, which member has which partitions, and its positions.

Of groups of the classic protocol, which Kafka's clients use by default, of KIP-848, and of share groups. See
`requests`.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import ConsumerProtocolAssignment, OffsetFetchRequest

from workloads.clients.coordination import highest_version
from workloads.clients.messages.describe_groups import ConsumerGroupDescribeRequest, ShareGroupDescribeRequest
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
    described = _next_generation(ask, group)
    if described is None:
        return None
    return {
        (topic.topic_name, int(number)): GroupMember(each.member_id, each.client_id, each.instance_id)
        for each in described.members
        for topic in each.assignment.topic_partitions
        for number in topic.partitions
    }


def moving(ask: Ask, group: str) -> Mapping[Log, GroupMember]:
    """Of a group of the next-generation protocol, the partitions that its members have and must give back."""
    described = _next_generation(ask, group)
    found: dict[Log, GroupMember] = {}
    for each in () if described is None else described.members:
        has, keeps = (
            {
                (topic.topic_name, int(number))
                for topic in part.topic_partitions
                for number in topic.partitions
            }
            for part in (each.assignment, each.target_assignment)
        )
        found |= dict.fromkeys(has - keeps, GroupMember(each.member_id, each.client_id, each.instance_id))
    return found


def _next_generation(ask: Ask, group: str) -> Any:
    if highest_version(ask, ConsumerGroupDescribeRequest.API_KEY) < 0:
        return None
    request = ConsumerGroupDescribeRequest(version=0, group_ids=[group], include_authorized_operations=False)
    (described,) = ask(request).groups
    return None if described.error_code else described


UNSTABLE = 88
"""Error code: the position is part of a transaction that has not ended."""


def stable_positions(ask: Ask, group: str, logs: Collection[Log]) -> Mapping[Log, int | None] | None:
    """As `positions`, and None for a partition whose position is part of an unfinished transaction (KIP-447)."""
    answer = ask(OffsetFetchRequest(version=7, group_id=group, topics=_wanted(logs), require_stable=True))
    if answer.error_code:
        return None
    return {
        (topic.name, partition.partition_index): None
        if partition.error_code == UNSTABLE
        else int(partition.committed_offset)
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code == UNSTABLE or (not partition.error_code and partition.committed_offset >= 0)
    }


def positions(ask: Ask, group: str, logs: Collection[Log]) -> Mapping[Log, int] | None:
    """Those of these partitions that have one. None where the broker is not the coordinator."""
    answer = ask(OffsetFetchRequest(version=5, group_id=group, topics=_wanted(logs)))
    if answer.error_code:
        return None
    return {
        (topic.name, partition.partition_index): int(partition.committed_offset)
        for topic in answer.topics
        for partition in topic.partitions
        if not partition.error_code and partition.committed_offset >= 0
    }


def _wanted(logs: Collection[Log]) -> list[Any]:
    topics: dict[str, list[int]] = {}
    for name, number in logs:
        topics.setdefault(name, []).append(number)
    Topic = OffsetFetchRequest.OffsetFetchRequestTopic
    return [Topic(name=name, partition_indexes=numbers) for name, numbers in topics.items()]


def assigned(assignment: bytes | None) -> list[Log]:
    """The partitions that a member has. None of a member whose library writes assignments of its own format."""
    try:
        decoded = ConsumerProtocolAssignment.decode(assignment) if assignment else None
    except (struct.error, ValueError, TypeError, IndexError):
        return []
    return [] if decoded is None else [(topic, int(number)) for topic, number in decoded.partitions()]


CLASSIC, NEXT, SHARE = "classic", "consumer", "share"

HAS_TYPES = 5
"""Version of ListGroups whose answer has the type of a group, since Kafka 3.8. Before, all groups are classic, or are
described as such."""


class GroupState(NamedTuple):
    """protocol: the assignor; None where none is reported. Epochs are None for a group of the classic protocol."""

    state: str
    protocol: str | None
    epoch: int | None
    assigned_epoch: int | None
    members: Mapping[str, tuple[Log, ...]]
    positions: Mapping[Log, int]


def groups(ask: Ask, version: int) -> dict[str, str]:
    """By name of those that the broker coordinates, their type. version: the highest of ListGroups that it has."""
    answer = ask(ListGroupsRequest(version=min(HAS_TYPES, version), states_filter=[], types_filter=[]))
    if answer.error_code:
        return {}
    return {each.group_id: (each.group_type or CLASSIC).lower() for each in answer.groups}


def state_of(ask: Ask, group: str, kind: str, logs: Collection[Log]) -> GroupState | None:
    """logs: whose positions are requested. None where the broker is not the coordinator any more."""
    if kind == SHARE:
        request = ShareGroupDescribeRequest(version=1, group_ids=[group], include_authorized_operations=False)
        return _with_epochs(ask(request), {})
    at = positions(ask, group, logs)
    if at is None:
        return None
    if kind == NEXT:
        next_request = ConsumerGroupDescribeRequest(
            version=0, group_ids=[group], include_authorized_operations=False
        )
        return _with_epochs(ask(next_request), at)
    (described,) = ask(DescribeGroupsRequest(version=5, groups=[group])).groups
    if described.error_code or described.protocol_type not in (CONSUMERS, ""):
        return None
    members = {each.member_id: tuple(assigned(each.member_assignment)) for each in described.members}
    return GroupState(described.group_state, described.protocol_data or None, None, None, members, at)


def _with_epochs(answer: Any, at: Mapping[Log, int]) -> GroupState | None:
    (described,) = answer.groups
    if described.error_code:
        return None
    members = {
        each.member_id: tuple(
            (topic.topic_name, int(number))
            for topic in each.assignment.topic_partitions
            for number in topic.partitions
        )
        for each in described.members
    }
    return GroupState(
        described.group_state,
        described.assignor_name or None,
        described.group_epoch,
        described.assignment_epoch,
        members,
        at,
    )
