"""A client commits a transaction, gets no answer, and commits again. The first request arrives when the next
transaction is open, which the client then aborts. The program sends the requests in the order in which a network that
delays the first one would deliver them.

Exercised: the second transaction was open when the late commit arrived.
"""

from __future__ import annotations

from collections.abc import Callable

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import TRANSACTION_VERSIONS
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.transactional_producer import TransactionalProducer


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    producer = TransactionalProducer(context, topic)

    def succeeds(what: str, request: Callable[[], int]) -> None:
        context.require(lambda: request() == 0, 10, what)

    succeeds("a partition in the first transaction", producer.add_partition)
    succeeds("a write in the first transaction", lambda: producer.send("first"))
    late = producer.end(commit=True)
    repeated = producer.end(commit=True)
    succeeds("the commit of the first transaction", lambda: producer.ended(repeated))
    succeeds("a partition in the second transaction", producer.add_partition)
    succeeds("a write in the second transaction", lambda: producer.send("aborted"))
    state = producer.state()
    exercised(state == "Ongoing", f"the second transaction is {state}")
    answer = int(producer.ask_coordinator(late).error_code)
    aborted = producer.ended(producer.end(commit=False))
    context.require(
        lambda: producer.state().startswith("Complete"),
        10,
        "the second transaction has ended",
    )
    visible = [*context.read(topic, isolation_level="read_committed").values()]
    return Answer(
        holds=visible == ["first"],
        seen=f"the late commit was answered with error {answer}, the abort with error {aborted}; committed "
        f"readers get {', '.join(visible)}",
        figures={"error of the late commit": answer, "aborted records that are read": len(visible) - 1},
    )


CLAIM = Claim(
    id="A9",
    title="a late commit",
    text="A commit that arrives late, after the client has repeated it, does not decide the next transaction.",
    source="https://issues.apache.org/jira/browse/KAFKA-17754",
    cases=TRANSACTION_VERSIONS,
    show=show,
)
