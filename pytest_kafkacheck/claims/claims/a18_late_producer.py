"""A Java producer is late: the coordinator aborts its transaction by time-out, and its write is refused. The producer
then aborts as well, and commits the next transaction if it can.

The producer has written to one partition, and writes to it and to a second one in one request. The leader asks the
coordinator about the second one, and packets from the leader to the coordinator are dropped until the marker of the
abort is in the first one. So the leader has accepted the request before the abort, and appends it afterwards.

Exercised: the marker was in the log before the packets passed, and both writes ended with an error.
"""

from __future__ import annotations

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import one_coordinator
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

TIMEOUT_MS = 6000
"""transaction.timeout.ms. Meanwhile the drop of packets begins, and the request reaches the leader."""

FATAL = "INVALID_TXN_STATE"

LIMIT = 30.0
"""Seconds for the abort by the coordinator and, when packets pass again, for TCP to repeat the leader's request."""

ABORTED = 4
"""Log end after a committed record and an aborted one, each with its marker."""


def show(context: ScenarioContext) -> Answer:
    # All ids have the same coordinator: the topic of transactions has one partition.
    found: list[int | None] = []

    def is_known() -> bool:
        found.append(context.cluster.coordinator("transaction", "any"))
        return found[-1] is not None

    context.require(is_known, 15, "a coordinator")
    coordinator = found[-1] or 0
    leader = next(node for node in context.brokers if node != coordinator)
    topic = context.topic([leader], [leader])
    client = context.java_client()
    client.open_producer(
        topic,
        transactional_id=topic, transaction_timeout_ms=TIMEOUT_MS, linger_ms=300, request_timeout_ms=40_000,
        delivery_timeout_ms=60_000, max_block_ms=10_000,
    )  # fmt: skip

    def written(*numbers: int) -> list[str]:
        sent = client.send(((topic, number), "v") for number in numbers)
        context.require(lambda: client.are_completed(sent), LIMIT, "writes ended")
        return client.errors(sent)

    def ended(outcome: str) -> str:
        return client.call("end", limit=10.0, outcome=outcome)

    first = [client.call("begin", limit=5.0), *written(0), ended("commit"), client.call("begin", limit=5.0)]
    exercised(not any([*first, *written(0)]), f"the first transaction ended with {first}")
    with context.cluster.fault(partition([[leader], [coordinator]], plane="replication", one_way="out")):
        sent = client.send(((topic, number), "late") for number in (0, 1))
        context.require(lambda: context.end(topic, leader) == ABORTED, LIMIT, "the marker of the abort")
        exercised(not client.errors(sent), f"the late writes ended before, with {client.errors(sent)}")
    context.require(lambda: client.are_completed(sent), LIMIT, "the late writes ended")
    errors = client.errors(sent)
    exercised(all(errors), f"the late writes ended with {errors}")
    steps = {"abort": ended("abort"), "begin": client.call("begin", limit=5.0)}
    if not steps["begin"]:
        steps |= {"write": "".join(written(0)), "commit": ended("commit")}
    refused = {step: error for step, error in steps.items() if error}
    return Answer(
        holds=FATAL not in errors,
        seen=f"the late writes ended with {' and '.join(errors)}; the producer "
        + (f"could not go on: {refused}" if refused else "aborted and committed the next transaction"),
        figures={"errors of the late writes": " and ".join(errors), "goes on": "no" if refused else "yes"},
    )


WHY = (
    "brokers 3.9.0 to 3.9.1 and 4.0.0 to 4.1.0 look for the transaction before they compare epochs (KAFKA-19690), "
    "whatever the release of the client"
)

CLAIM = Claim(
    id="A18",
    title="a late write is refused by its epoch",
    text="A write that is too late, because the coordinator has aborted its transaction by time-out, is refused with "
    "INVALID_PRODUCER_EPOCH, after which Kafka Streams begins again. It is not refused with INVALID_TXN_STATE, which "
    "Kafka Streams treats as fatal.",
    source="https://issues.apache.org/jira/browse/KAFKA-19690",
    cases=(
        Case(name="4.1.1 client 4.1.1", cluster=one_coordinator("4.1.1"), client="4.1.1"),
        Case(name="4.1.1 client 4.1.0", cluster=one_coordinator("4.1.1"), client="4.1.0"),
        Case(
            name="4.1.0 client 4.1.1",
            cluster=one_coordinator("4.1.0"),
            client="4.1.1",
            expected="refuted",
            why=WHY,
        ),
        Case(name="3.9.2 client 3.9.2", cluster=one_coordinator("3.9.2"), client="3.9.2"),
        Case(
            name="3.9.0 client 3.9.2",
            cluster=one_coordinator("3.9.0"),
            client="3.9.2",
            expected="refuted",
            why=WHY,
        ),
    ),
    show=show,
)
