"""Waits for a running cluster: until a condition holds, until it has settled, until it is ready.

It has settled when every node serves, and every partition has a leader and a full ISR. It is ready when a client has
written a record to every broker and read it back. Lines in the brokers' logs are no proof: a broker logs that it has
started before clients can use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from kafka.errors import KafkaError, for_code
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_delay,
    wait_fixed,
)

from pytest_kafkacheck.cluster.kafka import metadata_views, topics
from pytest_kafkacheck.cluster.kafka.one_record import produce_request
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address, Connection, Ensemble
from workloads.clients.requests import fetch


class RunningCluster(Protocol):
    """Addresses of the nodes, and whether they serve."""

    @property
    def spec(self) -> ClusterSpec: ...

    @property
    def nodes(self) -> Collection[int]:
        """Node ids."""
        ...

    @property
    def brokers(self) -> Mapping[int, Address]:
        """Where clients on this host reach each broker."""
        ...

    @property
    def ensemble(self) -> Ensemble:
        """ZooKeeper as this host reaches it; without servers in KRaft mode."""
        ...

    def leader(self, topic: str, partition: int) -> int | None:
        """Node id of the partition's leader; None while it has none."""
        ...

    def serving(self, node: int) -> bool:
        """Whether the node serves clients or its peers. False where it does not answer."""
        ...

    def ended(self) -> str | None:
        """The last output of the first node whose process has ended; None while all run."""
        ...


ENDED_INTERVAL = 0.5
"""Seconds between two checks whether a node has ended: each request to the engine costs the nodes processor time."""


def wait_until(
    problem: Callable[[], str | None],
    what: str,
    *,
    limit: float,
    dead: Callable[[], str | None] = lambda: None,
    pause: float = 0.1,
) -> None:
    """Return as soon as `problem` returns None.

    problem  returns the reason to go on waiting, or None; an OSError or KafkaError that it raises is a reason too.
    what     the awaited condition, for the message of an error.
    dead     returns the last output of a node that has ended, or None.
    limit    seconds in all; `pause` is the number of seconds between two attempts.
    Raises InfrastructureError when time is up, and at once when a node has ended, because it will not come back.
    """
    checked = float("-inf")

    def once() -> str | None:
        nonlocal checked
        if time.monotonic() - checked >= ENDED_INTERVAL:
            checked = time.monotonic()
            if (text := dead()) is not None:
                raise InfrastructureError(f"A node ended while kafkacheck waited for {what}: {text}")
        return problem()

    try:
        Retrying(
            stop=stop_after_delay(limit),
            wait=wait_fixed(pause),
            retry=retry_if_exception_type((OSError, KafkaError))
            | retry_if_result(lambda text: text is not None),
        )(once)
    except RetryError as error:
        why = error.last_attempt.exception() or error.last_attempt.result()
        raise InfrastructureError(f"Waited {limit:.0f} s in vain for {what}: {why}.") from error


LIMIT = 120.0
"""Seconds for a cluster to settle after one change."""


def wait_settled(cluster: RunningCluster, *, limit: float = LIMIT) -> None:
    """Wait until the cluster has settled. Raises InfrastructureError after `limit` seconds, or when a node ends."""
    wait_until(lambda: unsettled(cluster), "the cluster settled", limit=limit, dead=cluster.ended)


def unsettled(cluster: RunningCluster) -> str | None:
    """One reason why the cluster has not settled, or None. Raises OSError where a broker does not answer."""
    if (reason := not_serving(cluster)) is not None:
        return reason
    for node, address in cluster.brokers.items():
        for (topic, partition), view in metadata_views.metadata(address, None).items():
            if view.leader < 0 or set(view.isr) != set(view.replicas):
                isr = f"ISR {list(view.isr)} of {list(view.replicas)}"
                return f"broker {node} sees {topic}-{partition} with leader {view.leader}, {isr}"
    return None


def not_serving(cluster: RunningCluster) -> str | None:
    """A node that does not serve, or a broker that does not know all others, or None. Raises OSError."""
    brokers = cluster.brokers
    for node, address in brokers.items():
        if (seen := metadata_views.unfenced(address)) != set(brokers):
            return f"broker {node} sees {sorted(seen)} of {sorted(brokers)}"
    for node in cluster.nodes:
        if node not in brokers and not cluster.serving(node):
            return f"node {node} does not serve"
    return None


TOPIC = "kafkacheck-ready"
READY_LIMIT = 90.0
"""Seconds for each step: all nodes serve; each broker has stored a record."""

TIMEOUT = 3.0
"""Seconds for one request."""

PAUSE = 0.05
"""Seconds between two attempts: short, because tests wait for the start."""


def wait_ready(cluster: RunningCluster) -> None:
    """Wait until every node serves and every broker is unfenced, then write a record to each broker and read it back.

    Raises InfrastructureError when time is up, and at once when a node has ended, because it will not come back.
    """
    brokers, dead = cluster.brokers, cluster.ended
    wait_until(lambda: not_serving(cluster), "every node serving", limit=READY_LIMIT, dead=dead, pause=PAUSE)
    topics.create(brokers, TOPIC, assignment={number: [node] for number, node in enumerate(brokers)})
    with ThreadPoolExecutor(max_workers=len(brokers)) as pool:
        proofs = [pool.submit(_prove, number, brokers[node], dead) for number, node in enumerate(brokers)]
    for proof in proofs:
        proof.result()
    topics.delete(brokers, TOPIC)


def _prove(partition: int, address: Address, dead: Callable[[], str | None]) -> None:
    """Write a record to the partition, whose only replica is on that broker, and read it back."""

    def unread() -> str | None:
        with Connection(address, timeout=TIMEOUT) as connection:
            write_record(connection, TOPIC, partition)
            return None if _read(connection, partition) else "the record was written, but not read"

    what = f"a record written to and read from the broker at {address}"
    wait_until(unread, what, limit=READY_LIMIT, dead=dead, pause=PAUSE)


def write_record(connection: Connection, topic: str, partition: int) -> None:
    """With acks=all. Raises KafkaError and OSError, within `TIMEOUT` on the broker's side."""
    request = produce_request(topic, partition, b"ready", timeout=TIMEOUT)
    (answer,) = connection.ask(request).responses[0].partition_responses
    if answer.error_code:
        raise for_code(answer.error_code)(f"produce to {topic}-{partition}")


def _read(connection: Connection, partition: int) -> bool:
    log = TOPIC, partition
    answer = fetch(connection.ask, {log: 0}, most_bytes=1 << 20, wait=0.5)[log]
    if answer.error_code:
        raise for_code(answer.error_code)(f"fetch from {TOPIC}-{partition}")
    return b"ready" in bytes(answer.records or b"")
