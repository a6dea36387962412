"""Settings of a client, in the names that Kafka's documentation has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workloads.clients.connection import Address, common_security
from workloads.clients.outcome import Acks

COMMON: Mapping[str, str] = {
    # Short, because clients must learn of a new leader while the test lasts; the defaults are minutes.
    "metadata.max.age.ms": "1000",
    "request.timeout.ms": "3000",
    "reconnect.backoff.max.ms": "1000",
    "socket.connection.setup.timeout.ms": "3000",
}

PRODUCER: Mapping[str, str] = {"max.block.ms": "3000"}

CONSUMER: Mapping[str, str] = {
    # Any policy would move the position without a trace.
    "auto.offset.reset": "none",
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
    "fetch.max.wait.ms": "100",
    "max.poll.records": "2000",
}

SET_BY_US = frozenset(
    {"acks", "bootstrap.servers", "client.id", "enable.idempotence", "security.protocol", "transactional.id"}
)
SET_BY_US_PREFIXES = ("sasl.", "ssl.")
"""Settings that follow from the workload and the cluster, by name and by how the name begins."""

NO_COMMITS_IN_POLL = (
    "commits within a poll: the protocol of client processes has none; use library='confluent-kafka'"
)


def check_setting(name: str) -> None:
    """Raises ValueError saying why a user cannot set it. The client itself decides about all others."""
    if name in SET_BY_US or name.startswith(SET_BY_US_PREFIXES):
        raise ValueError("kafkacheck sets this itself")


def access(bootstrap: Iterable[Address]) -> dict[str, str]:
    """Raises ValueError when the addresses differ in security: a client connects to all brokers in the same way."""
    addresses = tuple(bootstrap)
    security = common_security(addresses)
    return {
        "bootstrap.servers": ",".join(map(str, addresses)),
        **(security.kafka() if security is not None else {}),
    }


def producer(
    bootstrap: Iterable[Address], *, acks: Acks, idempotence: bool, settings: Mapping[str, Any]
) -> dict[str, str]:
    """settings: of the user; they take precedence over ours."""
    return {
        **COMMON,
        **PRODUCER,
        **access(bootstrap),
        "acks": str(acks),
        "enable.idempotence": text(idempotence),
        **{name: text(value) for name, value in settings.items()},
    }


def consumer(bootstrap: Iterable[Address], *, committed: bool, rack: str | None) -> dict[str, str]:
    return {
        **COMMON,
        **CONSUMER,
        **access(bootstrap),
        "isolation.level": _isolation(committed),
        **({} if rack is None else {"client.rack": rack}),
    }


def member(group: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a member without those of its connection; `settings` as `Library.member` has them. Raises
    ValueError for what the protocol does not have."""
    if settings.get("commits_in_poll") is not None:
        raise ValueError(NO_COMMITS_IN_POLL)
    protocol = settings.get("protocol", "classic")
    config = {
        **COMMON,
        **CONSUMER,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": settings.get("auto_offset_reset", "earliest"),
        "isolation.level": _isolation(settings.get("committed", False)),
        "max.poll.interval.ms": _milliseconds(settings.get("max_poll_interval", 300)),
    }
    if settings.get("instance") is not None:
        config["group.instance.id"] = settings["instance"]
    if protocol == "consumer":
        # The group's coordinator decides the others.
        return config | ({"group.remote.assignor": "range"} if settings.get("assignor") == "range" else {})
    for ours, theirs in (
        ("session_timeout", "session.timeout.ms"),
        ("heartbeat_interval", "heartbeat.interval.ms"),
    ):
        if ours in settings:
            config[theirs] = _milliseconds(settings[ours])
    return config | {"partition.assignment.strategy": settings.get("assignor", "range")}


def share(group: str, settings: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of a consumer of a share group without those of its connection, and those of the group; `settings` as
    `Library.share` has them."""
    config = {
        **COMMON,
        "group.id": group,
        "fetch.max.wait.ms": CONSUMER["fetch.max.wait.ms"],
        "max.poll.records": text(settings["batch"]),
        # Otherwise a broker gives whole batches of records, which may be far more.
        "share.acquire.mode": "record_limit",
    }
    group_config = {
        "share.auto.offset.reset": settings.get("auto_offset_reset", "earliest"),
        "share.record.lock.duration.ms": _milliseconds(settings["lock"]),
    }
    return config, group_config


def member_needs(settings: Mapping[str, Any]) -> frozenset[str]:
    """The capabilities that such a member needs of a client."""
    protocol = settings.get("protocol", "classic")
    needs = {f"group-{protocol}"}
    if protocol == "classic":
        needs.add(f"assignor-{settings.get('assignor', 'range')}")
    if settings.get("instance") is not None:
        needs.add("static-members")
    if settings.get("committed"):
        needs.add("read-committed")
    return frozenset(needs)


def text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _isolation(committed: bool) -> str:
    return "read_committed" if committed else "read_uncommitted"


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))
