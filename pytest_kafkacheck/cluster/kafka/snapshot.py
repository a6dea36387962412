"""What faults can change in Kafka at a cluster that somebody else runs: read before, and restored afterwards.

On a cluster that kafkacheck started, every change is one of ours (`pending_changes`). Here the owner has made
settings, too. Only a comparison with those before the session shows what a fault left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.dynamic import reset_broker, set_broker
from pytest_kafkacheck.cluster.kafka.pending_changes import pending_changes
from workloads.clients.connection import Address

OF_TOPIC = "DYNAMIC_TOPIC_CONFIG"

Settings = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """brokers   settings made while they ran: {broker id as text, or "" for all brokers: {name: value}}.
    topics    {topic: {name: value}}, of every topic.
    replicas  {topic: {partition as text: node ids, the preferred leader first}}, of every topic.
    """

    brokers: Settings
    topics: Settings
    replicas: Mapping[str, Mapping[str, list[int]]]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


def snapshot(brokers: Mapping[int, Address]) -> Snapshot:
    """As the brokers report it. Raises OSError when they do not answer."""
    of_brokers = pending_changes(brokers).settings
    try:
        with admin_client(brokers) as client:
            described = client.describe_topics()
            wanted = [ConfigResource(ConfigResourceType.TOPIC, topic["name"]) for topic in described]
            found = client.describe_configs(wanted) if wanted else {}
    except KafkaError as error:
        raise ConnectionError(f"the topics' settings could not be read: {error!r}") from error
    topics: dict[str, dict[str, str]] = {topic["name"]: {} for topic in described}
    for resources in found.values():
        for name, settings in resources.items():
            made = {
                key: str(data["value"]) for key, data in settings.items() if data["config_source"] == OF_TOPIC
            }
            topics[name] = made
    replicas = {
        topic["name"]: {
            str(each["partition_index"]): list(each["replica_nodes"]) for each in topic["partitions"]
        }
        for topic in described
    }
    return Snapshot(
        brokers={name: dict(settings) for name, settings in of_brokers.items()},
        topics=topics,
        replicas=replicas,
    )


def restore(brokers: Mapping[int, Address], before: Snapshot) -> list[str]:
    """Make everything as it was. Topics that were made since are left alone. Returns a line for each change.

    Raises OSError, and UsageError or InfrastructureError of `set_broker`.
    """
    now, lines = snapshot(brokers), []
    for name in sorted({*before.brokers, *now.brokers}):
        of_one = {int(name): brokers[int(name)]} if name else brokers
        changed, gone = _differences(before.brokers.get(name, {}), now.brokers.get(name, {}))
        if changed:
            set_broker(of_one, name, changed)
        if gone:
            reset_broker(of_one, name, gone)
        lines += _lines(f"broker {name}" if name else "all brokers", changed, gone)
    try:
        with admin_client(brokers) as client:
            for topic in sorted(before.topics.keys() & now.topics.keys()):
                changed, gone = _differences(before.topics[topic], now.topics[topic])
                wanted = {key: ("SET", value) for key, value in changed.items()} | dict.fromkeys(
                    gone, ("DELETE", None)
                )
                if wanted:
                    client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=wanted)])
                lines += _lines(f"topic {topic}", changed, gone)
            moved = _moved(before, now)
            if moved:
                client.alter_partition_reassignments(moved)
            lines += [f"{log.topic}-{log.partition}: replicas {nodes}" for log, nodes in moved.items()]
    except KafkaError as error:
        raise ConnectionError(f"topics could not be restored: {error!r}") from error
    return lines


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What has another value now, with the value before; and what was not set before."""
    changed = {key: value for key, value in before.items() if now.get(key) != value}
    return changed, sorted(now.keys() - before.keys())


def _moved(before: Snapshot, now: Snapshot) -> dict[TopicPartition, list[int]]:
    return {
        TopicPartition(topic, int(partition)): list(nodes)
        for topic, partitions in before.replicas.items()
        for partition, nodes in partitions.items()
        if now.replicas.get(topic, {}).get(partition, nodes) != nodes
    }


def _lines(whom: str, changed: Mapping[str, str], gone: list[str]) -> list[str]:
    return [f"{whom}: {key}={value}" for key, value in changed.items()] + [
        f"{whom}: {key} is unset" for key in gone
    ]
