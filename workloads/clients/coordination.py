"""What one broker reports of coordinators, groups and transactions. Each is a single request: see `requests`."""

from __future__ import annotations

from typing import Literal

from kafka.protocol.admin import DescribeGroupsRequest, DescribeTransactionsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from workloads.clients.requests import Ask

Kind = Literal["group", "transaction"]

KEY_TYPES: dict[Kind, int] = {"group": 0, "transaction": 1}


def coordinator(ask: Ask, kind: Kind, name: str) -> int | None:
    """Node id of the coordinator that the broker names; None while it knows none."""
    answer = ask(FindCoordinatorRequest(version=2, key=name, key_type=KEY_TYPES[kind]))
    return None if answer.error_code else int(answer.node_id)


def state(ask: Ask, kind: Kind, name: str) -> str | None:
    """The state of a group, such as Stable, or of a transaction, such as Ongoing.

    None where the broker is not the coordinator, or does not know the transactional id.
    """
    if kind == "group":
        (group,) = ask(DescribeGroupsRequest(version=5, groups=[name])).groups
        return None if group.error_code else str(group.group_state)
    (transaction,) = ask(DescribeTransactionsRequest(version=0, transactional_ids=[name])).transaction_states
    return None if transaction.error_code else str(transaction.transaction_state)
