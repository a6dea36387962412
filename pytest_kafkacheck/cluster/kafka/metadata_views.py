"""Metadata views: each broker's own view of the cluster. The views differ while the cluster changes.

Every view is one request to one broker, without any cache. A broker that is cut off goes on reporting an old state,
and tests need to see that. Of several views, the one with the highest epoch is the newest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from kafka.protocol.admin import DescribeClusterRequest

from workloads.clients import coordination, requests
from workloads.clients.connection import Address, ask
from workloads.clients.protocol import Log
from workloads.clients.requests import CLIENT, LATEST, Ask, Leadership, Quorum

TIMEOUT = 1.5
"""Seconds for each request. A slower broker counts as one that does not answer."""

View = Mapping[Log, Leadership]

Answer = TypeVar("Answer")


def metadata(address: Address, topics: Iterable[str] | None) -> View:
    """One broker's view of the partitions of topics, or of all topics for None. Raises OSError without an answer."""
    return requests.metadata(asking(address), topics)


class AskEach(Protocol):
    """Sends a request to all brokers at the same time. Brokers without an answer are missing in the result."""

    def __call__(
        self, addresses: Mapping[int, Address], request: Callable[[Ask], Answer]
    ) -> dict[int, Answer]: ...


def ask_each(addresses: Mapping[int, Address], request: Callable[[Ask], Answer]) -> dict[int, Answer]:
    """The usual `AskEach`, which waits for every broker, up to `TIMEOUT`."""
    answers: dict[int, Answer] = {}

    def one(node: int) -> None:
        try:
            answers[node] = request(asking(addresses[node]))
        except OSError:
            return

    with ThreadPoolExecutor(max_workers=len(addresses)) as pool:
        list(pool.map(one, addresses))
    return {node: answers[node] for node in addresses if node in answers}


def views(
    addresses: Mapping[int, Address], topics: Iterable[str], *, ask_each: AskEach = ask_each
) -> dict[int, View]:
    """The views of all brokers that answer."""
    names = tuple(topics)
    return ask_each(addresses, lambda ask_it: requests.metadata(ask_it, names))


def newest(all_views: Mapping[int, View], log: Log) -> Leadership | None:
    """The view of a partition with the highest leader epoch; of several, that of the leader itself.

    Where the leader does not answer, the smallest ISR counts: a replica is in sync only if all views of the epoch
    have it. The partition epoch would order them, but no response to a client contains it. The smaller ISR errs
    towards a shrink, which is the change to expect while a leader is silent.
    """
    found = [
        (view[log].leader_epoch, view[log].leader == node, -len(view[log].isr), -node)
        for node, view in all_views.items()
        if log in view
    ]
    return all_views[-max(found)[3]][log] if found else None


def quorum(addresses: Mapping[int, Address], *, ask_each: AskEach = ask_each) -> Quorum | None:
    """The KRaft quorum as the brokers report it, with the highest epoch. None when no broker knows it.

    Do not take the controller from Metadata or DescribeCluster: in KRaft mode these name any living broker.
    """
    answers = [answer for answer in ask_each(addresses, requests.quorum).values() if answer is not None]
    return max(answers, key=lambda answer: answer.epoch, default=None)


def coordinator(
    addresses: Mapping[int, Address], kind: coordination.Kind, name: str, *, ask_each: AskEach = ask_each
) -> int | None:
    """The node that most brokers name as the coordinator of a group or a transactional id; None where none does."""
    answers = ask_each(addresses, lambda ask_it: coordination.coordinator(ask_it, kind, name))
    named = Counter(node for node in answers.values() if node is not None)
    return max(named, key=named.__getitem__, default=None)


def unfenced(address: Address) -> set[int]:
    """Node ids of the brokers that are not fenced, in that broker's view. Raises OSError without an answer."""
    return unfenced_brokers(asking(address))


def unfenced_brokers(ask_it: Ask) -> set[int]:
    """As `unfenced`, over a connection that is there already."""
    request = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)
    return {broker.broker_id for broker in ask_it(request).brokers}


def offset(
    address: Address, log: Log, *, at: int = LATEST, asker: int = CLIENT, leader_epoch: int = -1
) -> tuple[int, int]:
    """(error code, offset) of ListOffsets from that broker; see `requests.offsets`.

    Raises OSError without an answer.
    """
    return requests.offsets(asking(address), {log: leader_epoch}, at=at, asker=asker)[log]


def asking(address: Address) -> Ask:
    """Sends requests to that broker."""
    return lambda request: ask(address, request, timeout=TIMEOUT)
