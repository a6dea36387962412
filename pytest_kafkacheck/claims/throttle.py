"""A quota on what one client writes. Brokers answer at once, and say for how long the client has to send nothing.

So a client of Apache Kafka's library holds records back for a known time, although no broker is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

RATE = "producer_byte_rate"
KIND = "client-id"
EXACT = 0

WINDOW = 10.0
"""Seconds over which brokers take the mean at least: quota.window.num - 1 windows of a second each."""


@contextmanager
def throttled(context: ScenarioContext, client: str, *, size: int, seconds: float) -> Iterator[None]:
    """After a request of `size` bytes, the client with that client.id may send nothing for so many seconds.

    A client that has written in the last ten seconds has to wait for longer.
    """
    _alter(context, client, round(size / (WINDOW + seconds)))
    try:
        context.require(lambda: _is_known(context, client), 10, "all brokers know the quota")
        yield
    finally:
        _alter(context, client, None)


def _alter(context: ScenarioContext, client: str, rate: int | None) -> None:
    """None: without a quota."""
    Entry = AlterClientQuotasRequest.EntryData
    entry = Entry(
        entity=[Entry.EntityData(entity_type=KIND, entity_name=client)],
        ops=[Entry.OpData(key=RATE, value=float(rate or 0), remove=rate is None)],
    )
    request = AlterClientQuotasRequest(version=0, entries=[entry], validate_only=False)
    (answer,) = context.ask(context.brokers[0])(request).entries
    exercised(not answer.error_code, f"the quota was refused: {answer.error_message}")


def _is_known(context: ScenarioContext, client: str) -> bool:
    Component = DescribeClientQuotasRequest.ComponentData
    component = Component(entity_type=KIND, match_type=EXACT, match=client)
    request = DescribeClientQuotasRequest(version=0, components=[component], strict=True)
    return all(context.ask(node)(request).entries for node in context.brokers)
