"""Whether a cluster has recovered: all brokers report the same state again. Removing a fault is not enough."""

from __future__ import annotations

from collections.abc import Iterable

from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_delay,
    wait_fixed,
)

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST, REPLICA

Ends = dict[str, dict[int, tuple[int, int]]]
"""{topic: {partition: (first offset, end offset, exclusive)}}"""


def disagreement(cluster: DockerCluster, topics: Iterable[str]) -> str | None:
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


def wait_agreement(cluster: DockerCluster, topics: Iterable[str], *, limit: float) -> str | None:
    """Wait up to `limit` seconds for agreement. Returns the last reason against it, or None."""
    names = tuple(topics)
    retrying = Retrying(
        stop=stop_after_delay(limit),
        wait=wait_fixed(0.1),
        retry=retry_if_result(lambda text: text is not None),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    return retrying(disagreement, cluster, names)


def log_ends(cluster: DockerCluster, topics: Iterable[str], *, limit: float) -> Ends:
    """First offset and end of every partition, from its leader, once every record is readable.

    A record acknowledged with acks=1 may still be above the high watermark: the end is taken only
    when the high watermark has reached the leader's log end. Raises InfrastructureError at `limit` seconds.
    """
    names = tuple(topics)

    def once() -> Ends:
        ends: Ends = {name: {} for name in names}
        all_views = metadata_views.views(cluster.brokers, names)
        for key in sorted({key for view in all_views.values() for key in view}):
            view = metadata_views.newest(all_views.values(), key)
            if view is None or view.leader < 0:
                raise OSError(f"{key[0]}-{key[1]} has no leader")
            address, epoch = cluster.brokers[view.leader], view.leader_epoch
            start = _answer(metadata_views.offset(address, key, at=EARLIEST, leader_epoch=epoch), key)
            readable = _answer(metadata_views.offset(address, key, leader_epoch=epoch), key)
            written = _answer(metadata_views.offset(address, key, asker=REPLICA, leader_epoch=epoch), key)
            if readable != written:
                raise OSError(f"{key[0]}-{key[1]}: high watermark {readable}, log end {written}")
            ends[key[0]][key[1]] = (start, readable)
        return ends

    retrying = Retrying(
        stop=stop_after_delay(limit), wait=wait_fixed(0.1), retry=retry_if_exception_type(OSError)
    )
    try:
        return retrying(once)
    except RetryError as error:
        raise InfrastructureError(
            f"The ends of {', '.join(names)} could not be taken within {limit:.0f} s: "
            f"{error.last_attempt.exception()}"
        ) from error


def _answer(found: tuple[int, int], key: Log) -> int:
    code, offset = found
    if code:
        raise OSError(f"{key[0]}-{key[1]}: ListOffsets answered error {code}")
    return offset
