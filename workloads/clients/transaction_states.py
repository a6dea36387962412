"""What the coordinator of transactions reports of them (KIP-664). Each is a single request: see `requests`."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kafka.protocol.admin import DescribeTransactionsRequest, ListTransactionsRequest

from workloads.clients.protocol import Log
from workloads.clients.requests import Ask


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
