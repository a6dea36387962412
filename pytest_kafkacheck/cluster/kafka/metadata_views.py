"""Requests to brokers: each broker's own view of the cluster, and changes that any broker forwards to the controller.

Every view is one request to one broker, without any cache. The views differ while the cluster changes: a broker that
is cut off goes on reporting an old state, and tests need to see that. Of several views, the one with the highest
epoch is the newest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from kafka.protocol.admin import CreateTopicsRequest, DescribeClusterRequest
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from nemesis.cluster import Registration
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


REFUSED = {17, 37, 38, 39, 40, 42, 44}
"""Error codes: invalid topic, partitions, replication factor, assignment, config, request; policy violation."""

LIMIT = 30.0
"""Seconds after which a request without a final answer is abandoned."""


class _Again(Exception):
    """No final answer yet: (error code, text)."""


def ask_any(
    brokers: Mapping[int, Address], request: Any, pick: Callable[[Any], Any], *, done: set[int]
) -> tuple[int, str]:
    """Repeat the request until an answer is final. Returns (error code, text); the code is -1 if no broker answered.

    pick  returns the part of an answer with error_code and, in some versions, error_message.
    done  error codes that are final, in addition to `REFUSED`.
    """

    def once() -> tuple[int, str]:
        last = (-1, "no broker answered")
        for address in brokers.values():
            try:
                answer = pick(ask(address, request, timeout=6.0))
            except OSError as error:
                last = (-1, f"{address}: {error!r}")
                continue
            last = (answer.error_code, getattr(answer, "error_message", "") or "")
            if last[0] in done | REFUSED:
                return last
        raise _Again(*last)

    try:
        return Retrying(
            stop=stop_after_delay(LIMIT),
            wait=wait_fixed(0.3),
            retry=retry_if_exception_type(_Again),
            reraise=True,
        )(once)
    except _Again as again:
        code, text = again.args
        return code, text


TOPIC = "kafkacheck-registration"
"""A name that no topic has: it is never created."""

TIMEOUT_MS = 5000
"""Milliseconds for the controller to answer."""

ACCEPTED, INVALID_ASSIGNMENT = 0, 39


def registration(brokers: Mapping[int, Address], node: int) -> Registration:
    """Whether the controller knows that broker, and lets it serve. Raises OSError when it does not answer.

    Views of brokers may be old. A request to create a topic goes to the controller, whichever broker gets it. With
    ``validate_only`` nothing is created, and the controller answers whether the broker that is to hold the only
    replica is registered, and whether it is fenced.
    """
    Topic = CreateTopicsRequest.CreatableTopic
    replica = Topic.CreatableReplicaAssignment(partition_index=0, broker_ids=[node])
    topic = Topic(name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=[replica], configs=[])
    request = CreateTopicsRequest(version=5, topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=True)
    done = {ACCEPTED, INVALID_ASSIGNMENT}
    return answered(*ask_any(brokers, request, lambda answer: answer.topics[0], done=done))


def answered(code: int, message: str | None) -> Registration:
    """The meaning of the controller's answer. Raises OSError where it says nothing of the broker."""
    text = message or ""
    if code == ACCEPTED:
        return "active"
    if code == INVALID_ASSIGNMENT and "no such broker is registered" in text:
        return "unregistered"
    if code == INVALID_ASSIGNMENT and ("fenced" in text or "shutdown" in text):
        return "fenced"
    raise OSError(f"the controller did not say whether the broker is registered: error {code}, {text}")
