"""A client aborts a transaction, gets no answer, and aborts again. The first request arrives when the next
transaction has written to one partition. The client writes to a second partition, and commits.

Exercised: the second transaction was open when the late abort arrived, and the commit succeeded.
"""

from __future__ import annotations

from collections.abc import Callable

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import TRANSACTION_VERSIONS
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.transactional_producer import TransactionalProducer


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers)
    producer = TransactionalProducer(context, topic, partitions=2)

    def succeeds(what: str, request: Callable[[], int]) -> None:
        context.require(lambda: request() == 0, 10, what)

    succeeds("a partition in the first transaction", producer.add_partition)
    succeeds("a write in the first transaction", lambda: producer.send("first"))
    late = producer.end(commit=False)
    repeated = producer.end(commit=False)
    succeeds("the abort of the first transaction", lambda: producer.ended(repeated))
    succeeds("a partition in the second transaction", producer.add_partition)
    succeeds("a write in the second transaction", lambda: producer.send("one"))
    state = producer.state()
    exercised(state == "Ongoing", f"the second transaction is {state}")
    answer = int(producer.ask_coordinator(late).error_code)
    succeeds("another partition in the second transaction", lambda: producer.add_partition(1))
    succeeds("another write in the second transaction", lambda: producer.send("two", 1))
    commit = producer.end(commit=True)
    succeeds("the commit of the second transaction", lambda: producer.ended(commit))
    context.require(lambda: producer.state() == "CompleteCommit", 10, "the second transaction has ended")
    committed = [
        value
        for partition in (0, 1)
        for value in context.read(topic, partition=partition, isolation_level="read_committed").values()
    ]
    lost = 2 - len(committed)
    return Answer(
        holds=committed == ["one", "two"],
        seen=f"the late abort was answered with error {answer}, the commit succeeded; committed readers get "
        f"{' and '.join(committed)}",
        figures={"error of the late abort": answer, "lost of a committed transaction": f"{lost} of 2"},
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
