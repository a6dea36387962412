"""Whether a cluster has recovered: all brokers report the same state again. Removing a fault is not enough."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.topics import Report
from workloads.clients.connection import Address, Ensemble
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST, REPLICA

Ends = dict[str, dict[int, tuple[int, int]]]
"""{topic: {partition: (first offset, end offset, exclusive)}}"""

INTERVAL = 0.1
"""Seconds between two requests to the brokers."""

READ_LIMIT, READ_RATE = 120.0, 10_000
"""Seconds for the final reads, and records per second that even a slow client on a busy machine reads after that."""


def read_limit(ends: Ends) -> float:
    """Seconds within which fresh clients have read these ranges, unless something is wrong."""
    records = sum(end - start for numbers in ends.values() for start, end in numbers.values())
    return READ_LIMIT + records / READ_RATE


def disagreement(cluster: UsedCluster, topics: Iterable[str]) -> str | None:
    """Why the brokers do not agree about the topics yet, or None when they do.

    They agree when all answer, report the same leader, leader epoch and ISR, and the ISR is full.
    """
    names = tuple(topics)
    found = metadata_views.views(cluster.brokers, names)
    if missing := sorted(set(cluster.brokers) - set(found)):
        return f"brokers {missing} do not answer"
    first = next(iter(found.values()))
    if {topic for topic, _ in first} != set(names):
        return "not every broker knows every topic"
    for key, view in first.items():
        reported = {node: other.get(key) for node, other in found.items()}
        if any(other != view for other in reported.values()):
            return f"brokers differ about {key[0]}-{key[1]}: {reported}"
        if view.leader < 0:
            return f"{key[0]}-{key[1]} has no leader"
        if set(view.isr) != set(view.replicas):
            return f"{key[0]}-{key[1]} has ISR {list(view.isr)} of replicas {list(view.replicas)}"
    return None


def wait_agreement(cluster: UsedCluster, topics: Iterable[str], *, limit: float) -> str | None:
    """Wait up to `limit` seconds for agreement. Returns the last reason against it, or None."""
    names = tuple(topics)
    retrying = Retrying(
        stop=stop_after_delay(limit),
        wait=wait_fixed(INTERVAL),
        retry=retry_if_result(lambda text: text is not None),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    return retrying(disagreement, cluster, names)


def log_ends(cluster: UsedCluster, logs: Collection[Log], *, limit: float) -> tuple[Ends, Mapping[Log, str]]:
    """First offset and end of each partition, from its leader, once every record is readable.

    A record acknowledged with acks=1 may still be above the high watermark: the end is taken only
    when the high watermark has reached the leader's log end.

    logs  partitions to read; those that were added to their topics since are read, too.
    Returns the ends, and for each partition that had none after `limit` seconds the reason.
    """
    topics = sorted({topic for topic, _ in logs})
    ends: dict[Log, tuple[int, int]] = {}
    missing: dict[Log, str] = dict.fromkeys(logs, "")
    deadline = time.monotonic() + limit
    while True:
        all_views = metadata_views.views(cluster.brokers, topics)
        known = {log for view in all_views.values() for log in view}
        for log in sorted({*missing, *known} - ends.keys()):
            try:
                ends[log] = _ends_of(cluster, all_views, log)
                missing.pop(log, None)
            except OSError as error:
                missing[log] = str(error)
        if not missing or time.monotonic() >= deadline:
            break
        time.sleep(INTERVAL)
    by_topic: Ends = {topic: {} for topic in topics}
    for (topic, partition), found in ends.items():
        by_topic[topic][partition] = found
    return by_topic, missing


def _ends_of(cluster: UsedCluster, all_views: Mapping[int, metadata_views.View], log: Log) -> tuple[int, int]:
    view = metadata_views.newest(all_views, log)
    if view is None:
        raise OSError("no broker reports it")
    if view.leader < 0:
        raise OSError("it has no leader")
    if view.leader not in cluster.brokers:
        raise OSError(f"its leader, broker {view.leader}, is not in the cluster any more")
    address, epoch = cluster.brokers[view.leader], view.leader_epoch
    start = _answer(metadata_views.offset(address, log, at=EARLIEST, leader_epoch=epoch))
    readable = _answer(metadata_views.offset(address, log, leader_epoch=epoch))
    written = _answer(metadata_views.offset(address, log, asker=REPLICA, leader_epoch=epoch))
    if readable != written:
        raise OSError(f"its high watermark {readable} is not its log end {written}")
    return start, readable


def _answer(found: tuple[int, int]) -> int:
    code, offset = found
    if code:
        raise OSError(f"ListOffsets answered error {code}")
    return offset


class ReportsTopics(Protocol):
    report: Report | None
    """Takes each deletion and creation of a topic."""


class UsedCluster(Protocol):
    @property
    def run(self) -> str:
        """How environment.json names it."""
        ...

    @property
    def registered_as(self) -> str:
        """The name under which this host remembers topics of runs on it, see `registers.TopicRegister`."""
        ...

    @property
    def brokers(self) -> Mapping[int, Address]:
        """Where clients on this host reach each broker."""
        ...

    @property
    def ensemble(self) -> Ensemble:
        """ZooKeeper as this host reaches it; without servers in KRaft mode, and where it is not known."""
        ...

    @property
    def nodes(self) -> Collection[int]:
        """The nodes that faults may leave in need of a restart."""
        ...

    @property
    def kafka(self) -> ReportsTopics: ...
