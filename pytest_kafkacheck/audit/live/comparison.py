"""What a running cluster shows beside its settings: replicas out of sync, and what files and defaults say
otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pytest_kafkacheck.audit.files.declared import DeclaredCluster, listed
from pytest_kafkacheck.audit.keys import KINDS, SHARED
from pytest_kafkacheck.audit.live.brokers import Cluster
from pytest_kafkacheck.audit.live.topics import ReadTopic

SHOWN = 5
"""Topics or partitions that a sentence names."""


def out_of_sync(topics: Iterable[ReadTopic]) -> list[str]:
    """A sentence for each topic with partitions that have no leader, or replicas that are not in sync."""
    found = []
    for topic in topics:
        if topic.leaderless:
            numbers = _some([str(number) for number in topic.leaderless])
            found.append(
                f"topic {topic.name} has no leader now: partition {numbers}; neither writes nor reads"
            )
        short = {
            number: in_sync
            for number, in_sync in topic.in_sync.items()
            if number not in topic.leaderless and set(in_sync) != set(topic.replicas[number])
        }
        if not short:
            continue
        least = min(topic.settings.get("min_isr", 1), topic.settings["replication"])
        below = {number: in_sync for number, in_sync in short.items() if len(in_sync) < least}
        what, then = "has replicas out of sync", "the others would lose what it has acknowledged"
        if below:
            what = f"is below its minimum (min.insync.replicas={least})"
            then = "writes with acks=all are refused"
        shown = below or short
        isrs = [
            f"partition {number} has the ISR {sorted(in_sync)} of {sorted(topic.replicas[number])}"
            for number, in_sync in sorted(shown.items())
        ]
        found.append(
            f"topic {topic.name} {what} now: {_some(isrs)}; {then}. See in the brokers' logs why replicas do not "
            f"follow; brokers may advertise to each other what they do not reach"
        )
    return found


def older_topics(cluster: Cluster, topics: Iterable[ReadTopic]) -> list[str]:
    """Topics with other replicas than a broker's default gives: it counts for topics that are made later."""
    differing: defaultdict[tuple[str, str, int], list[str]] = defaultdict(list)
    for topic in topics:
        key = KINDS[topic.name if topic.name in KINDS else ""]["replication"].name
        value = next((found[key].value for found in cluster.described.values() if key in found), None)
        replicas = topic.settings["replication"]
        # A topic with more replicas than the default was made so on purpose.
        if value is not None and int(value) > replicas:
            differing[key, value, replicas].append(topic.name)
    return [
        f"{'topics' if len(names) > 1 else 'topic'} {_some(names)} {'have' if len(names) > 1 else 'has'} {replicas} "
        f"replica{'s' * (replicas != 1)}, made before or without {key}={value}: a default adds no replicas to "
        "topics that are there; kafka-reassign-partitions does"
        for (key, value, replicas), names in differing.items()
    ]


def differences(cluster: Cluster, files: Iterable[DeclaredCluster]) -> list[str]:
    """Settings of brokers' files that the running brokers have otherwise."""
    keys = [key for keys in (SHARED, *KINDS.values()) for key in keys.values()]
    found = []
    for declared in files:
        for node in declared.brokers:
            stated = node.settings.get("node.id") or node.settings.get("broker.id")
            brokers = (
                [int(stated.text)]
                if stated is not None and stated.text.isdigit() and int(stated.text) in cluster.described
                else [*cluster.described]
            )
            for key in keys:
                value = node.settings.get(key.name)
                if value is None or value.is_open:
                    continue
                others = {
                    number: described[key.name]
                    for number in brokers
                    if key.name in (described := cluster.described[number])
                    and described[key.name].value.lower() != value.text.strip().lower()
                }
                if others:
                    shown = "; ".join(
                        f"{other.value} on broker {number} ({other.origin})"
                        for number, other in others.items()
                    )
                    found.append(
                        f"{value.place}: {key.name}={value.text}, but {shown}: the brokers were not restarted "
                        "with this file, or something else overrides it"
                    )
    return list(dict.fromkeys(found))


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return listed(names) if more <= 0 else f"{', '.join(names[:SHOWN])} and {more} more"
