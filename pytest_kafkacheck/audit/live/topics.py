"""Topics and groups: where replicas are, which settings decide what is lost, what is read without a position."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest

from pytest_kafkacheck.audit.live.brokers import (
    FILE,
    AskNode,
    Cluster,
    Described,
    any_of,
    describe_broker,
    describe_topics,
    no_answer,
    refusal,
)
from pytest_kafkacheck.audit.report import Problem
from pytest_kafkacheck.errors import UsageError
from workloads.clients.requests import metadata_request

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
FLUSH_MESSAGES, FLUSH_MS = "flush.messages", "flush.ms"
TIERED = "remote.storage.enable"
SETTINGS = (MIN_ISR, UNCLEAN, FLUSH_MESSAGES, FLUSH_MS, TIERED)

NEVER = 2**63 - 1
"""Value of a flush setting that is off."""

SHOWN = 20
"""Names of topics in a message."""


@dataclass
class ReadTopic:
    """settings, origins, unknown: as `Subject` has them. replicas: node ids of each partition. in_sync: those of them
    that are. leaderless: partitions without a leader."""

    name: str
    internal: bool
    partitions: int
    replicas: Mapping[int, Collection[int]] = field(default_factory=dict)
    in_sync: Mapping[int, Collection[int]] = field(default_factory=dict)
    leaderless: Collection[int] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def put(self, name: str, value: object, origin: str) -> None:
        self.settings[name], self.origins[name] = value, origin


def read_topics(cluster: Cluster, send: AskNode, pattern: str) -> tuple[list[ReadTopic], list[Problem]]:
    """Topics whose name matches the pattern, such as "orders*", and all internal ones; a new one where there is none.

    Raises UsageError that names topics where none matches, OSError when no broker answers.
    """
    answer = any_of(cluster.nodes, send, metadata_request(None, version=9))
    problems = [
        refusal(
            each.error_code,
            "Describe",
            tried=f"Metadata of topic {each.name}",
            missing="its replicas are not known",
        )
        for each in answer.topics
        if each.error_code
    ]
    there = [each for each in answer.topics if not each.error_code and each.partitions]
    chosen = [each for each in there if each.is_internal or fnmatchcase(each.name, pattern)]
    if not there and pattern == "*":
        topic, refused = _new_topic(cluster, send)
        return [topic], [*problems, *refused]
    if not any(not each.is_internal for each in chosen) and (pattern != "*" or not chosen):
        raise UsageError(_no_match(pattern, [each.name for each in there if not each.is_internal]))
    found = [_replicas(each, cluster.racks) for each in sorted(chosen, key=lambda each: each.name)]
    described, refused = describe_topics(cluster.nodes, send, [each.name for each in found], SETTINGS)
    for topic in found:
        _settings(topic, described.get(topic.name), cluster)
    return found, [*problems, *refused]


OF_BROKER = {
    "log.flush.interval.messages": FLUSH_MESSAGES,
    "log.flush.interval.ms": FLUSH_MS,
    MIN_ISR: MIN_ISR,
    UNCLEAN: UNCLEAN,
}
"""Settings of brokers that are the defaults of new topics, and what topics call them."""

REPLICATION = "default.replication.factor"


def _new_topic(cluster: Cluster, send: AskNode) -> tuple[ReadTopic, list[Problem]]:
    """What a topic gets that says nothing of its own. Raises UsageError where the brokers do not say it."""
    described, problems = describe_broker(cluster.nodes[0], send, [*OF_BROKER, REPLICATION])
    if REPLICATION not in described:
        why = "; ".join(each.missing for each in problems)
        raise UsageError(
            f"this user sees no topic, and the brokers' defaults cannot be read either ({why}); allow Describe on "
            f"topics, or DescribeConfigs on the cluster, to this user"
        )
    topic = ReadTopic("a new one, with the brokers' defaults", internal=False, partitions=0)
    topic.put("replication", int(described[REPLICATION].value), described[REPLICATION].origin)
    _settings(
        topic, {OF_BROKER[name]: each for name, each in described.items() if name in OF_BROKER}, cluster
    )
    return topic, problems


def _replicas(described: Any, racks: Mapping[int, str]) -> ReadTopic:
    """By the partition with the fewest replicas, and by that with the most in one rack."""
    topic = ReadTopic(
        described.name,
        described.is_internal,
        len(described.partitions),
        replicas={each.partition_index: each.replica_nodes for each in described.partitions},
        in_sync={each.partition_index: each.isr_nodes for each in described.partitions},
        leaderless=[each.partition_index for each in described.partitions if each.leader_id < 0],
    )
    counts = [len(each.replica_nodes) for each in described.partitions]
    spread = f"partitions, of which some have {max(counts)}" if len(set(counts)) > 1 else "partitions"
    topic.put("replication", min(counts), spread)
    in_one = [_most_in_one(each.replica_nodes, racks) for each in described.partitions]
    known = [each for each in in_one if each is not None]
    if len(known) == len(in_one):
        topic.put("replicas_in_rack", max(known), "broker.rack")
    return topic


def _most_in_one(replicas: Iterable[int], racks: Mapping[int, str]) -> int | None:
    nodes = list(replicas)
    if not all(node in racks for node in nodes):
        return None
    return max(Counter(racks[node] for node in nodes).values())


def _settings(topic: ReadTopic, described: Described | None, cluster: Cluster) -> None:
    replication = topic.settings["replication"]
    if described is None:
        topic.unknown = {
            "min_isr": tuple(range(1, replication + 1)),
            "unclean": (False, True),
            "flush_messages": (None, 1),
        }
        return
    if MIN_ISR in described:
        topic.put("min_isr", int(described[MIN_ISR].value), described[MIN_ISR].origin)
    if UNCLEAN in described:
        value, source = described[UNCLEAN]
        origin = described[UNCLEAN].origin
        if cluster.settings.get("mode") == "kraft" and cluster.separate_controllers and source >= FILE:
            # The value in effect comes from the controllers' own file, and no request reads that.
            origin += "; the controllers' file decides, which cannot be read"
        topic.put("unclean", value == "true", origin)
    if TIERED in described:
        topic.put("tiered", described[TIERED].value == "true", described[TIERED].origin)
    for field_name, name in (("flush_messages", FLUSH_MESSAGES), ("flush_ms", FLUSH_MS)):
        if name in described and (number := int(described[name].value)) != NEVER:
            topic.put(field_name, max(number, 1), described[name].origin)


def alike(topics: Iterable[ReadTopic]) -> list[list[ReadTopic]]:
    """Topics of which nothing differs but the name, together."""
    groups: defaultdict[str, list[ReadTopic]] = defaultdict(list)
    for topic in topics:
        groups[repr((topic.internal, topic.settings, topic.origins, topic.unknown))].append(topic)
    return list(groups.values())


def _no_match(pattern: str, names: list[str]) -> str:
    if not names:
        return (
            f"--topic {pattern}: this user sees no topic; leave --topic out to audit the brokers' defaults, or allow "
            f"Describe on those to audit"
        )
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"--topic {pattern}: matches none of {', '.join(sorted(names)[:SHOWN])}{more}"


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
