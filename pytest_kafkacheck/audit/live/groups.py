"""Consumer groups: which partitions they read without a committed position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest

from pytest_kafkacheck.audit.live.asking import AskNode, no_answer, refusal
from pytest_kafkacheck.audit.report import Problem

CONSUMER = "consumer"
"""Protocol type of groups of consumers."""


@dataclass(frozen=True)
class ReadGroup:
    """uncommitted: partitions of topics of which it has committed positions of others."""

    name: str
    uncommitted: tuple[str, ...] = ()


def read_groups(
    nodes: list[int], send: AskNode, partitions: Mapping[str, int]
) -> tuple[list[ReadGroup], list[Problem]]:
    """partitions: their number, by topic. Each broker lists the groups that it coordinates."""
    found: list[ReadGroup] = []
    problems: list[Problem] = []
    for node in nodes:
        tried = f"ListGroups of broker {node}"
        try:
            answer = send(node, ListGroupsRequest(version=0))
        except OSError as error:
            problems.append(no_answer(error, tried=tried, missing="its groups are not known"))
            continue
        if answer.error_code:
            problems.append(
                refusal(answer.error_code, "Describe", tried=tried, missing="its groups are not known")
            )
            continue
        for each in answer.groups:
            if each.protocol_type in (CONSUMER, ""):
                _read_group(node, send, each.group_id, partitions, found, problems)
    return sorted(found, key=lambda group: group.name), problems


def _read_group(
    node: int,
    send: AskNode,
    name: str,
    partitions: Mapping[str, int],
    found: list[ReadGroup],
    problems: list[Problem],
) -> None:
    tried, missing = f"OffsetFetch of group {name}", "its committed positions are not known"
    try:
        answer = send(node, OffsetFetchRequest(version=5, group_id=name, topics=None))
    except OSError as error:
        problems.append(no_answer(error, tried=tried, missing=missing))
        return
    if answer.error_code:
        problems.append(refusal(answer.error_code, "Describe", tried=tried, missing=missing))
        return
    committed: defaultdict[str, set[int]] = defaultdict(set)
    for topic in answer.topics:
        committed[topic.name] |= {
            each.partition_index for each in topic.partitions if each.committed_offset >= 0
        }
    uncommitted = tuple(
        f"{topic}-{partition}"
        for topic, those in sorted(committed.items())
        for partition in range(partitions.get(topic, 0))
        if those and partition not in those
    )
    found.append(ReadGroup(name, uncommitted))
