"""Kafka's names of the fields of a configuration, by kind of topic, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pytest_kafkacheck.audit.configuration import parse_version

NEVER = 2**63 - 1
"""Value of a flush setting that is off."""


def whole(least: int) -> Callable[[str], int | None]:
    def convert(text: str) -> int | None:
        number = int(text)
        if number < least:
            raise ValueError(text)
        return number

    convert.__doc__ = f"a whole number, {least} or more"
    return convert


def flush(text: str) -> int | None:
    """a whole number"""
    number = int(text)
    return None if number == NEVER else max(number, 1)


def boolean(text: str) -> bool:
    """true or false"""
    return {"true": True, "false": False}[text.lower()]


def protocol(text: str) -> str:
    """a release, such as 3.6"""
    number = text.partition("-")[0]
    parse_version(number)
    return number


class Key(NamedTuple):
    """name: Kafka's. convert: from its text; its docstring says what is expected. default: of Kafka, where a
    `Configuration` has another one. open: values that it may have where the file leaves it to its environment."""

    name: str
    convert: Callable[[str], Any]
    default: Any = None
    open: tuple[Any, ...] = ()


def _replicas(name: str, default: int) -> Key:
    return Key(name, whole(1), default, (1, 3))


def _minimum(name: str, default: int) -> Key:
    return Key(name, whole(1), default, (1, 2))


SHARED = {
    "unclean": Key("unclean.leader.election.enable", boolean, False, (False, True)),
    "flush_messages": Key("log.flush.interval.messages", flush),
    "flush_ms": Key("log.flush.interval.ms", flush),
    "flush_check_ms": Key("log.flush.scheduler.interval.ms", whole(1)),
    "controlled_shutdown": Key("controlled.shutdown.enable", boolean, True),
    "cleaner": Key("log.cleaner.enable", boolean, True),
    "tiered": Key("remote.log.storage.system.enable", boolean, False),
    "protocol": Key("inter.broker.protocol.version", protocol),
    "offsets_retention_minutes": Key("offsets.retention.minutes", whole(1)),
}
"""Of brokers, for all topics, by field of a `Configuration`."""

KINDS: dict[str, dict[str, Key]] = {
    "": {
        "replication": _replicas("default.replication.factor", 1),
        "min_isr": _minimum("min.insync.replicas", 1),
    },
    "__consumer_offsets": {
        "replication": _replicas("offsets.topic.replication.factor", 3),
        "min_isr": _minimum("min.insync.replicas", 1),
    },
    "__transaction_state": {
        "replication": _replicas("transaction.state.log.replication.factor", 3),
        "min_isr": _minimum("transaction.state.log.min.isr", 2),
    },
    "__share_group_state": {
        "replication": _replicas("share.coordinator.state.topic.replication.factor", 3),
        "min_isr": _minimum("share.coordinator.state.topic.min.isr", 2),
    },
}
"""Of brokers, by kind of topic; "" are those that are made without settings of their own."""

OF_TOPIC = {
    "min_isr": Key("min.insync.replicas", whole(1)),
    "unclean": Key("unclean.leader.election.enable", boolean),
    "flush_messages": Key("flush.messages", flush),
    "flush_ms": Key("flush.ms", flush),
    "tiered": Key("remote.storage.enable", boolean),
}
