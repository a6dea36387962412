"""A producer has written in a transaction when a second one with its transactional.id begins. The first one goes on.

Exercised: the first one's record was in the log, and the second one has committed.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.writer import SEND_ERRORS


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    first, second = (context.producer(transactional_id=topic) for _ in range(2))
    first.init_transactions()
    first.begin_transaction()
    offset = first.send(topic, b"first", partition=0).get(timeout=10).offset
    second.init_transactions()
    second.begin_transaction()
    second.send(topic, b"second", partition=0).get(timeout=10)
    second.commit_transaction()
    refused = "nothing"
    try:
        first.send(topic, b"late", partition=0).get(timeout=10)
        first.commit_transaction()
    except SEND_ERRORS as error:
        refused = type(getattr(error, "error", error)).__name__
    everything = context.read(topic)
    committed = list(context.read(topic, isolation_level="read_committed").values())
    exercised(everything.get(offset) == "first", f"the log holds {everything}")
    return Answer(
        holds=refused != "nothing" and committed == ["second"],
        seen=f"the first producer was refused with {refused}; committed: {committed}",
        figures={"error": refused, "records": len(everything), "committed": len(committed)},
    )


CLAIM = Claim(
    id="A12",
    title="a transactional id has one producer",
    text="A producer that begins with the transactional.id of another one fences it: what the other one had open is "
    "aborted, and it can commit nothing any more.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-98+-+Exactly+Once+Delivery+and+Transactional+"
    "Messaging",
    cases=BOTH_MODES,
    show=show,
)
