"""A client aborts a transaction, gets no answer, and aborts again on a new connection. The first request arrives when
the next transaction has written to one partition. The client writes to a second partition, and commits. The kernel
drops the packets of the first request where they arrive, and TCP sends them again until they pass.

Exercised: packets were dropped, the broker's kernel had received nothing of the first abort when the second
transaction was open, the answer to it came afterwards, on the first connection, and the commit succeeded.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import TRANSACTION_VERSIONS
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.late_end import late_end, succeeds
from pytest_kafkacheck.claims.transactional_producer import TransactionalProducer


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers)
    producer = TransactionalProducer(context, topic, partitions=2)
    late = late_end(context, producer, "one", commit=False)
    succeeds(context, "another partition in the second transaction", lambda: producer.add_partition(1))
    succeeds(context, "another write in the second transaction", lambda: producer.send("two", 1))
    commit = producer.end(commit=True)
    succeeds(context, "the commit of the second transaction", lambda: producer.ended(commit))
    context.require(lambda: producer.state() == "CompleteCommit", 10, "the second transaction has ended")
    committed = [
        value
        for partition in (0, 1)
        for value in context.read(topic, partition=partition, isolation_level="read_committed").values()
    ]
    lost = 2 - len(committed)
    return Answer(
        holds=committed == ["one", "two"],
        seen=f"the late abort was answered {late.seconds} s after it was sent, with error {late.error}, and the "
        f"commit succeeded; committed readers get {' and '.join(committed)}",
        figures={
            "late by (s)": late.seconds,
            "error of the late abort": late.error,
            "lost of a committed transaction": f"{lost} of 2",
        },
    )


CLAIM = Claim(
    id="A13",
    title="a late abort",
    text="An abort that arrives late, after the client has repeated it, does not tear the next transaction: what was "
    "committed is there as a whole.",
    source="https://issues.apache.org/jira/browse/KAFKA-17754",
    cases=TRANSACTION_VERSIONS,
    show=show,
)
