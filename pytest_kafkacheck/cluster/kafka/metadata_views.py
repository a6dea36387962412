"""What the brokers say of the cluster, each asked for itself. Views differ while things change.

One request to one broker, nothing cached: a cut-off broker goes on telling the past, and that is
something to see, not to hide. Of several views the one with the highest epoch is the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kafka.protocol.admin import DescribeClusterRequest

from workloads.clients import requests
from workloads.clients.connection import Address, ask
from workloads.clients.protocol import Log
from workloads.clients.requests import CLIENT, LATEST, Ask, Leadership, Quorum

TIMEOUT = 1.5
"""Seconds for each request: a broker that takes longer does not answer."""

View = Mapping[Log, Leadership]

Answer = TypeVar("Answer")


def metadata(address: Address, topics: Iterable[str] | None) -> View:
    """That broker's own view of the partitions of topics, of all for None. Raises OSError when it is silent."""
    return requests.metadata(_asking(address), topics)


def views(addresses: Mapping[int, Address], topics: Iterable[str]) -> dict[int, View]:
    """The views of all brokers that answer, asked at the same time."""
    names = tuple(topics)
    return _of_each(addresses, lambda asking: requests.metadata(asking, names))


def newest(all_views: Iterable[View], log: Log) -> Leadership | None:
    """The view of a partition with the highest leader epoch."""
    found = [view[log] for view in all_views if log in view]
    return max(found, key=lambda view: view.leader_epoch, default=None)


def quorum(addresses: Mapping[int, Address]) -> Quorum | None:
    """The KRaft quorum as the brokers that know tell it; the highest epoch wins.

    The controller that metadata and DescribeCluster name is any living broker in KRaft mode.
    """
    told = [answer for answer in _of_each(addresses, requests.quorum).values() if answer is not None]
    return max(told, key=lambda answer: answer.epoch, default=None)


def unfenced(address: Address) -> set[int]:
    """Node ids of the brokers the controller has not fenced, as the asked broker knows. Raises OSError."""
    request = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)
    return {broker.broker_id for broker in _asking(address)(request).brokers}


def offset(
    address: Address, log: Log, *, at: int = LATEST, asker: int = CLIENT, leader_epoch: int = -1
) -> tuple[int, int]:
    """(error code, offset) of ListOffsets from that broker; see `questions.offsets`. Raises OSError."""
    return requests.offsets(_asking(address), {log: leader_epoch}, at=at, asker=asker)[log]


def _asking(address: Address) -> Ask:
    return lambda request: ask(address, request, timeout=TIMEOUT)


def _of_each(addresses: Mapping[int, Address], question: Callable[[Ask], Answer]) -> dict[int, Answer]:
    """The answers of all brokers that give one, asked at the same time."""
    answers: dict[int, Answer] = {}

    def one(node: int) -> None:
        try:
            answers[node] = question(_asking(addresses[node]))
        except OSError:
            return

    with ThreadPoolExecutor(max_workers=len(addresses)) as pool:
        list(pool.map(one, addresses))
    return {node: answers[node] for node in addresses if node in answers}
