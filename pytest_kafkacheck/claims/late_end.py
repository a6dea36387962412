"""The end of a transaction that is requested twice: the first request reaches the coordinator when the next
transaction is open.

The packets of the first request are dropped on their way (`held_back`). The client gives up, repeats the request on a
new connection, and begins the next transaction. Then the packets pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.held_back import held_back
from pytest_kafkacheck.claims.transactional_producer import TransactionalProducer

LIMIT = 10.0
"""Seconds for a request to succeed: the coordinator refuses it while it ends the transaction before."""


class Late(NamedTuple):
    """error: code of the answer to the late request. seconds: from sending it to its answer."""

    error: int
    seconds: float


def succeeds(context: ScenarioContext, what: str, request: Callable[[], int]) -> None:
    """Repeat a request until its error code is 0. Raises NotExercised."""
    context.require(lambda: request() == 0, LIMIT, what)


def late_end(context: ScenarioContext, producer: TransactionalProducer, value: str, *, commit: bool) -> Late:
    """A transaction with the record "first" ends so. Leaves the next one open, with `value`, both in partition 0."""
    succeeds(context, "a partition in the first transaction", producer.add_partition)
    succeeds(context, "a write in the first transaction", lambda: producer.send("first"))
    with held_back(context, producer.coordinator, producer.end(commit=commit)) as late:
        repeated = producer.end(commit=commit)
        succeeds(context, "the end of the first transaction", lambda: producer.ended(repeated))
        succeeds(context, "a partition in the second transaction", producer.add_partition)
        succeeds(context, "a write in the second transaction", lambda: producer.send(value))
        state = producer.state()
        exercised(state == "Ongoing", f"the second transaction is {state}")
        answer = late.deliver()
    return Late(int(answer.error_code), late.seconds)
