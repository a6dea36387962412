"""A client commits a transaction, gets no answer, and commits again on a new connection. The first request arrives
when the next transaction is open, which the client then aborts. The kernel drops the packets of the first request
where they arrive, and TCP sends them again until they pass.

Exercised: packets were dropped, the broker's kernel had received nothing of the first commit when the second
transaction was open, and the answer to it came afterwards, on the first connection.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import TRANSACTION_VERSIONS
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.late_end import late_end
from pytest_kafkacheck.claims.transactional_producer import TransactionalProducer


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    producer = TransactionalProducer(context, topic)
    late = late_end(context, producer, "aborted", commit=True)
    aborted = producer.ended(producer.end(commit=False))
    context.require(
        lambda: producer.state().startswith("Complete"),
        10,
        "the second transaction has ended",
    )
    visible = [*context.read(topic, isolation_level="read_committed").values()]
    return Answer(
        holds=visible == ["first"],
        seen=f"the late commit was answered {late.seconds} s after it was sent, with error {late.error}, and the "
        f"abort with error {aborted}; committed readers get {', '.join(visible)}",
        figures={
            "late by (s)": late.seconds,
            "error of the late commit": late.error,
            "aborted records that are read": len(visible) - 1,
        },
    )


CLAIM = Claim(
    id="A9",
    title="a late commit",
    text="A commit that arrives late, after the client has repeated it, does not decide the next transaction.",
    source="https://issues.apache.org/jira/browse/KAFKA-17754",
    cases=TRANSACTION_VERSIONS,
    show=show,
)
