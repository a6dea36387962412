"""What one broker reports of coordinators, and of the groups and the transactions (KIP-664) that it coordinates.

Each is a single request: see `requests`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from kafka.protocol.admin import DescribeGroupsRequest, DescribeTransactionsRequest, ListTransactionsRequest
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest

from workloads.clients.protocol import Log
from workloads.clients.requests import Ask

Kind = Literal["group", "transaction"]

KEY_TYPES: dict[Kind, int] = {"group": 0, "transaction": 1}

NOT_CLASSIC = "is not a classic group"
"""How brokers say of a group that it has another protocol, such as that of KIP-848; since Kafka 4.0."""

SAYS_SO = 6
"""Version of DescribeGroups whose answer has a message. Up to version 5, such a group is Dead, like one that does not
exist."""


class NotClassic(Exception):
    """A group has another protocol than the classic one."""


def coordinator(ask: Ask, kind: Kind, name: str) -> int | None:
    """Node id of the coordinator that the broker names; None while it knows none."""
    answer = ask(FindCoordinatorRequest(version=2, key=name, key_type=KEY_TYPES[kind]))
    return None if answer.error_code else int(answer.node_id)


def state(ask: Ask, kind: Kind, name: str) -> str | None:
    """The state of a group, such as Stable, or of a transaction, such as Ongoing.

    None where the broker is not the coordinator, or does not know the transactional id. Raises NotClassic.
    """
    if kind == "group":
        (group,) = ask(DescribeGroupsRequest(version=5, groups=[name])).groups
        if group.group_state == "Dead" and highest_version(ask, DescribeGroupsRequest.API_KEY) >= SAYS_SO:
            (dead,) = ask(DescribeGroupsRequest(version=SAYS_SO, groups=[name])).groups
            require_classic(name, dead.error_message)
        return None if group.error_code else str(group.group_state)
    (transaction,) = ask(DescribeTransactionsRequest(version=0, transactional_ids=[name])).transaction_states
    return None if transaction.error_code else str(transaction.transaction_state)


def require_classic(group: str, message: str | None) -> None:
    """message: of the answer to DescribeGroups. Raises NotClassic."""
    if NOT_CLASSIC in (message or ""):
        raise NotClassic(
            f"group {group} has another protocol than the classic one, such as that of KIP-848: brokers report no "
            f"rebalance of it, and no member of kafkacheck can join it"
        )


def highest_version(ask: Ask, api: int) -> int:
    """The highest version of a request, by its API key, that the broker knows; -1 for none."""
    answer = ask(
        ApiVersionsRequest(version=3, client_software_name="kafkacheck", client_software_version="1")
    )
    return max((each.max_version for each in answer.api_keys if each.api_key == api), default=-1)


class TransactionState(NamedTuple):
    """started: ms since the epoch, -1 for never; logs: those in the transaction that still lack a marker."""

    state: str
    producer_id: int
    epoch: int
    started: int
    logs: tuple[Log, ...]


def transactional_ids(ask: Ask) -> tuple[str, ...]:
    """Those of which the broker is the coordinator. Since Kafka 3.0; an older broker closes the connection."""
    answer = ask(ListTransactionsRequest(version=0, state_filters=[], producer_id_filters=[]))
    return () if answer.error_code else tuple(each.transactional_id for each in answer.transaction_states)


def ongoing(ask: Ask, producers: Collection[int]) -> dict[int, str]:
    """By producer id, the transactional ids of those of these producers of which the broker is the coordinator and
    whose transaction is ongoing. Since Kafka 3.0; an older broker closes the connection."""
    request = ListTransactionsRequest(
        version=0, state_filters=["Ongoing"], producer_id_filters=list(producers)
    )
    answer = ask(request)
    return (
        {}
        if answer.error_code
        else {each.producer_id: each.transactional_id for each in answer.transaction_states}
    )


def transaction_states(ask: Ask, names: Collection[str]) -> dict[str, TransactionState]:
    """By transactional id, without those of which the broker is not the coordinator any more."""
    answer = ask(DescribeTransactionsRequest(version=0, transactional_ids=list(names)))
    return {
        each.transactional_id: TransactionState(
            each.transaction_state,
            each.producer_id,
            each.producer_epoch,
            each.transaction_start_time_ms,
            tuple((topic.topic, number) for topic in each.topics for number in topic.partitions),
        )
        for each in answer.transaction_states
        if not each.error_code
    }
