"""The audit of a running cluster: its topics, its internal topics, and its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_kafkacheck.audit.events import BROKER_EVENTS
from pytest_kafkacheck.audit.live.brokers import AskNode, Cluster, read_cluster
from pytest_kafkacheck.audit.live.topics import ReadGroup, ReadTopic, alike, read_groups, read_topics
from pytest_kafkacheck.audit.report import Report, Subject

INTERNAL = {
    "__consumer_offsets": "committed positions of groups",
    "__transaction_state": "states of transactions",
    "__share_group_state": "states of share groups",
}
OF_CLIENTS = ("acks", "idempotence", "client_version")
OF_CONSUMERS = ("commit", "auto_offset_reset")

NAMED = 5
"""Topics or groups that a heading names."""


def read_report(
    nodes: list[int],
    send: AskNode,
    *,
    pattern: str,
    settings: Mapping[str, Any],
    origins: Mapping[str, str],
    unknown: Mapping[str, tuple[Any, ...]],
) -> Report:
    """settings, origins, unknown: what the user states, of clients, and of what the cluster does not say.

    Raises UsageError where no topic matches the pattern, OSError when no broker answers.
    """
    cluster = read_cluster(nodes, send)
    topics, refused = read_topics(cluster, send, pattern)
    groups, unlisted = read_groups(nodes, send, {topic.name: topic.partitions for topic in topics})
    stated = Subject(name="", settings=settings, origins=origins, unknown=unknown)
    subjects = [_of_topics(cluster, alike_ones, stated) for alike_ones in alike(topics)]
    if groups:
        subjects.append(_of_groups(cluster, groups, stated))
    return Report(subjects, [*cluster.problems, *refused, *unlisted])


def _of_topics(cluster: Cluster, topics: Sequence[ReadTopic], stated: Subject) -> Subject:
    first = topics[0]
    names = [topic.name for topic in topics]
    if first.internal:
        name = ", ".join(f"{each} ({INTERNAL.get(each, 'internal')})" for each in names)
        # Brokers write these themselves, and wait for all in-sync replicas.
        own = Subject(
            name="",
            settings={"acks": "all", "idempotence": True},
            origins=dict.fromkeys(("acks", "idempotence"), "brokers"),
        )
    else:
        name = _heading("topic", names)
        own = _only(stated, OF_CLIENTS)
    rest = _without(stated, (*OF_CLIENTS, *OF_CONSUMERS))
    return _joined(name, (_only(stated, ("version",)), first, cluster, own, rest), BROKER_EVENTS)


def _of_groups(cluster: Cluster, groups: Sequence[ReadGroup], stated: Subject) -> Subject:
    notes = tuple(
        f"group {group.name} has no committed position of {_some(group.uncommitted)}; auto.offset.reset decides "
        "where it begins there"
        for group in groups
        if group.uncommitted
    )
    own = _only(stated, OF_CONSUMERS)
    subject = _joined(
        _heading("group", [group.name for group in groups]), (cluster, own), ("consumer-crash",)
    )
    return Subject(
        name=subject.name, settings=subject.settings, origins=subject.origins, unknown=subject.unknown,
        events=subject.events, notes=notes,
    )  # fmt: skip


def _joined(name: str, parts: Sequence[Any], events: tuple[str, ...]) -> Subject:
    """Of several values of a setting, that of the first part counts. Brokers report only the line of their release,
    so what the user states of it comes first."""
    settings: dict[str, Any] = {}
    origins: dict[str, str] = {}
    unknown: dict[str, tuple[Any, ...]] = {}
    for part in parts:
        for field, value in part.settings.items():
            if field not in settings:
                settings[field], origins[field] = value, part.origins.get(field, "")
        for field, values in part.unknown.items():
            unknown.setdefault(field, values)
    unknown = {field: values for field, values in unknown.items() if field not in settings}
    return Subject(name=name, settings=settings, origins=origins, unknown=unknown, events=events)


def _only(subject: Subject, fields: Sequence[str]) -> Subject:
    return Subject(
        name="",
        settings={field: value for field, value in subject.settings.items() if field in fields},
        origins=subject.origins,
        unknown={field: values for field, values in subject.unknown.items() if field in fields},
    )


def _without(subject: Subject, fields: Sequence[str]) -> Subject:
    every = {*subject.settings, *subject.unknown}
    return _only(subject, [field for field in every if field not in fields])


def _heading(kind: str, names: Sequence[str]) -> str:
    return f"{kind}{'s' * (len(names) > 1)} {_some(names)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
