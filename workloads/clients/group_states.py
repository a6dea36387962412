"""What the coordinator of a group reports of its state, whatever its protocol: classic, KIP-848, or of a share group.

Each is a single request: see `requests`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest

from workloads.clients.group_members import CONSUMERS, assigned, positions
from workloads.clients.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from workloads.clients.messages.share_group_describe import ShareGroupDescribeRequest
from workloads.clients.protocol import Log
from workloads.clients.requests import Ask

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
