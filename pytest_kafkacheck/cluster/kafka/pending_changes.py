"""What differs in Kafka from a cluster as it was started: settings made at run time, and reassignments under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from pytest_kafkacheck.cluster.kafka.admin import admin_client
from pytest_kafkacheck.cluster.kafka.dynamic import reset_broker
from workloads.clients.connection import Address

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
