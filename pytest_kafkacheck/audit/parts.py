"""Puts a subject together from what files, a cluster and the user say: of several values, that of the first
counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_kafkacheck.audit.report import Subject

INTERNAL = {
    "__consumer_offsets": "committed positions of groups",
    "__transaction_state": "states of transactions",
    "__share_group_state": "states of share groups",
}
"""What Kafka's own topics have, by name."""

OF_CLIENTS = ("acks", "idempotence", "client_version")
OF_CONSUMERS = ("commit", "auto_offset_reset")
OF_TOPICS = ("replication", "min_isr", "unclean", "flush_messages", "flush_ms", "tiered")

BROKERS_WRITE = Subject(
    name="",
    settings={"acks": "all", "idempotence": True},
    origins=dict.fromkeys(("acks", "idempotence"), "brokers"),
)
"""Brokers write internal topics themselves, and wait for all in-sync replicas."""


def joined(name: str, parts: Sequence[Any], events: tuple[str, ...]) -> Subject:
    """parts: with settings, origins and unknown, as `Subject` has them."""
    settings: dict[str, Any] = {}
    origins: dict[str, str] = {}
    unknown: dict[str, tuple[Any, ...]] = {}
    for part in parts:
        for field, value in part.settings.items():
            if field not in settings and field not in unknown:
                settings[field] = value
                if field in part.origins:
                    origins[field] = part.origins[field]
        for field, values in part.unknown.items():
            if field not in settings:
                unknown.setdefault(field, values)
    return Subject(name=name, settings=settings, origins=origins, unknown=unknown, events=events)


def only(subject: Subject, fields: Sequence[str]) -> Subject:
    return Subject(
        name="",
        settings={field: value for field, value in subject.settings.items() if field in fields},
        origins=subject.origins,
        unknown={field: values for field, values in subject.unknown.items() if field in fields},
    )


def without(subject: Subject, fields: Sequence[str]) -> Subject:
    every = {*subject.settings, *subject.unknown}
    return only(subject, [field for field in every if field not in fields])
