"""The audit of a running cluster: its topics, its internal topics, and its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_kafkacheck.audit.events import BROKER_EVENTS, CONSUMER_EVENTS
from pytest_kafkacheck.audit.files.declared import DeclaredCluster
from pytest_kafkacheck.audit.live.brokers import AskNode, Cluster, read_cluster
from pytest_kafkacheck.audit.live.comparison import differences, older_topics, out_of_sync
from pytest_kafkacheck.audit.live.topics import ReadGroup, ReadTopic, alike, read_groups, read_topics
from pytest_kafkacheck.audit.parts import (
    BROKERS_WRITE,
    INTERNAL,
    OF_CLIENTS,
    OF_CONSUMERS,
    joined,
    only,
    without,
)
from pytest_kafkacheck.audit.report import Report, Subject

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
    files: Sequence[DeclaredCluster] = (),
) -> Report:
    """settings, origins, unknown: what the user states, of clients, and of what the cluster does not say. files: what
    files say of it, with which it is compared.

    Raises UsageError where no topic matches the pattern, OSError when no broker answers.
    """
    cluster = read_cluster(nodes, send)
    topics, refused = read_topics(cluster, send, pattern)
    groups, unlisted = read_groups(nodes, send, {topic.name: topic.partitions for topic in topics})
    stated = Subject(name="", settings=settings, origins=origins, unknown=unknown)
    subjects = [_of_topics(cluster, alike_ones, stated) for alike_ones in alike(topics)]
    if groups:
        subjects.append(_of_groups(cluster, groups, stated))
    return Report(
        subjects,
        [*cluster.problems, *refused, *unlisted],
        out_of_sync=out_of_sync(topics),
        stated=[*older_topics(cluster, topics), *differences(cluster, files)],
    )


def _of_topics(cluster: Cluster, topics: Sequence[ReadTopic], stated: Subject) -> Subject:
    first = topics[0]
    names = [topic.name for topic in topics]
    if first.internal:
        name = ", ".join(f"{each} ({INTERNAL.get(each, 'internal')})" for each in names)
        own = BROKERS_WRITE
    else:
        name = _heading("topic", names)
        own = only(stated, OF_CLIENTS)
    rest = without(stated, (*OF_CLIENTS, *OF_CONSUMERS))
    return joined(name, (only(stated, ("version",)), first, cluster, own, rest), BROKER_EVENTS)


def _of_groups(cluster: Cluster, groups: Sequence[ReadGroup], stated: Subject) -> Subject:
    notes = tuple(
        f"group {group.name} has no committed position of {_some(group.uncommitted)}; auto.offset.reset decides "
        "where it begins there"
        for group in groups
        if group.uncommitted
    )
    own = only(stated, OF_CONSUMERS)
    name = _heading("group", [group.name for group in groups])
    return replace(joined(name, (cluster, own), CONSUMER_EVENTS), notes=notes)


def _heading(kind: str, names: Sequence[str]) -> str:
    return f"{kind}{'s' * (len(names) > 1)} {_some(names)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
