"""What may change in Kafka while it runs, settings and replicas: how it is changed, found, and restored.

On a cluster that kafkacheck started, every change is one of ours (`pending_changes`). Where somebody else runs the
cluster, the owner has made settings, too. There only a comparison with a `snapshot` from before the session shows
what a fault left. Kafka refuses to change settings that need a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import kafka.errors
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.metadata_views import LIMIT, REFUSED, ask_any
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address

BROKER = 4
SET, DELETE = 0, 1


def set_broker(brokers: Mapping[int, Address], name: str, settings: Mapping[str, str]) -> None:
    """Set the dynamic configuration of a broker, given by its id as text, or of all brokers with "".

    brokers  brokers that may be asked: for one broker's settings that broker, because it checks them itself.
    Raises UsageError when Kafka refuses, InfrastructureError when no broker accepts the request.
    """
    _alter(brokers, name, SET, settings)


def reset_broker(brokers: Mapping[int, Address], name: str, settings: Iterable[str]) -> None:
    """Remove settings from the dynamic configuration, so that those of the broker's file hold again.

    Arguments and errors are those of `set_broker`.
    """
    _alter(brokers, name, DELETE, dict.fromkeys(settings))


def _alter(
    brokers: Mapping[int, Address], name: str, operation: int, settings: Mapping[str, str | None]
) -> None:
    # kafka-python's admin client refuses the empty name that stands for all brokers.
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    resource = Resource(
        resource_type=BROKER,
        resource_name=name,
        configs=[
            Resource.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, value in settings.items()
        ],
    )
    request = IncrementalAlterConfigsRequest(version=0, resources=[resource], validate_only=False)
    code, message = ask_any(brokers, request, lambda answer: answer.responses[0], done={0})
    whom = f"broker {name}" if name else "all brokers"
    if code in REFUSED:
        raise UsageError(
            f"Kafka refused {dict(settings)} for {whom} ({kafka.errors.for_code(code).__name__}): {message}. "
            f"Settings that need a restart are changed by reconfigure()."
        )
    if code:
        raise InfrastructureError(
            f"{dict(settings)} could not be set for {whom} within {LIMIT:.0f} s: error {code}: {message}"
        )


OWN, DEFAULT = "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG"
"""Sources of settings that were made while brokers ran: of one broker, and of all."""

STATIC, BUILT_IN = "STATIC_BROKER_CONFIG", "DEFAULT_CONFIG"
"""Sources of settings with which brokers start."""

ALL = ""
"""Kafka's name for the configuration of all brokers."""


@dataclass(frozen=True, kw_only=True)
class PendingChanges:
    """settings  {broker id as text, or `ALL`: {name: value}}.
    moving    partitions that are being reassigned.
    """

    settings: Mapping[str, Mapping[str, str]]
    moving: tuple[TopicPartition, ...]

    def describe(self) -> list[str]:
        """A line for each."""
        lines = [
            f"{f'broker {name}' if name else 'all brokers'}: the setting {key}={value} was made while it ran"
            for name, found in self.settings.items()
            for key, value in found.items()
        ]
        return lines + [f"{log.topic}-{log.partition} is being reassigned" for log in self.moving]


def pending_changes(brokers: Mapping[int, Address]) -> PendingChanges:
    """As the brokers report them. Raises OSError when they do not answer."""
    wanted = [ConfigResource(ConfigResourceType.BROKER, str(broker)) for broker in brokers]
    try:
        with admin_client(brokers) as client:
            # Its filter "modified" leaves out settings that were made for all brokers.
            described = client.describe_configs(wanted, config_filter="all", include_synonyms=True)
            moving = client.list_partition_reassignments()
    except KafkaError as error:
        raise ConnectionError(f"the brokers' settings could not be read: {error!r}") from error
    settings: dict[str, dict[str, str]] = {}
    for resources in described.values():
        for broker, found in resources.items():
            for key, data in found.items():
                made = _made(key, data)
                if made is not None:
                    name = str(broker) if data["config_source"] == OWN else ALL
                    settings.setdefault(name, {})[key] = made
    return PendingChanges(settings=settings, moving=tuple(moving))


def _made(name: str, setting: Mapping[str, Any]) -> str | None:
    """The value that a setting was given at run time; None where it is the one with which the broker started.

    It is read from the synonyms: just after a change, a broker reports the new source with the former value.
    Kafka 4.1 itself makes min.insync.replicas for all brokers, with the value of their files.
    """
    source = setting["config_source"]
    if source not in (OWN, DEFAULT):
        return None
    values = {each["source"]: each["value"] for each in setting["synonyms"] if each["name"] == name}
    started_with = [values[each] for each in (STATIC, BUILT_IN) if each in values]
    return None if values[source] in started_with else str(values[source])


def undo(brokers: Mapping[int, Address], changes: PendingChanges) -> None:
    """Restore the settings and cancel the reassignments.

    Raises OSError, and UsageError or InfrastructureError of `reset_broker`.
    """
    for name, settings in changes.settings.items():
        reset_broker({int(name): brokers[int(name)]} if name else brokers, name, settings)
    if changes.moving:
        try:
            with admin_client(brokers) as client:
                client.alter_partition_reassignments(dict.fromkeys(changes.moving))
        except KafkaError as error:
            raise ConnectionError(f"reassignments could not be cancelled: {error!r}") from error


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
