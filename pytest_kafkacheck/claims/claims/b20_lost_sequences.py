"""An idempotent producer writes before and while the leader is alone in the ISR. Then an unclean election follows,
and the producer goes on with its next sequence number.

Exercised: the leader had acknowledged writes of the producer alone, and a replica outside of the ISR became leader.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.producer import InitProducerIdRequest

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import NOT_LEADER, OUT_OF_ORDER, error_code, request
from pytest_kafkacheck.claims.steps import another_leader, killed, leader_alone_in_sync
from pytest_kafkacheck.cluster.kafka.one_record import Sender

EACH = 10
"""Writes of the producer that all replicas have, and that the leader has alone."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"unclean.leader.election.enable": True, "min.insync.replicas": 1})
    leader, other, _ = context.view(topic).replicas
    producer = _new_producer(context, leader)

    def send(node: int, epoch: int, sequence: int) -> int:
        sender = Sender(producer, epoch, sequence)
        return error_code(
            context.ask(node)(request(topic, f"{epoch}-{sequence}", acks=-1, limit=1, sender=sender))
        )

    codes = [send(leader, 0, sequence) for sequence in range(EACH)]
    with leader_alone_in_sync(context, topic, context.writer(topic)):
        codes += [send(leader, 0, sequence) for sequence in range(EACH, 2 * EACH)]
        exercised(not any(codes), f"writes were answered with errors {codes}")
        with killed(context, leader):
            another_leader(context, topic, leader, at=other)
            elected = context.view(topic, at=other).leader
            context.require(
                lambda: send(elected, 0, 2 * EACH) != NOT_LEADER, 10, "the new leader answers the producer"
            )
            refused = send(elected, 0, 2 * EACH)
            taken = send(elected, 1, 0)
    context.cluster.wait_settled()
    kept = set(context.read(topic).values())
    lost = sum(f"0-{sequence}" not in kept for sequence in range(2 * EACH))
    return Answer(
        holds=refused == OUT_OF_ORDER and taken == 0 and lost >= EACH,
        seen=f"{lost} of {2 * EACH} acknowledged records of the producer are lost; the new leader answered its next "
        f"write with error {refused}, and that of a new epoch with {taken}",
        figures={"lost": lost, "error of the next write": refused, "error in a new epoch": taken},
    )


def _new_producer(context: ScenarioContext, node: int) -> int:
    """A producer id."""
    answers: list[Any] = []

    def is_known() -> bool:
        request = InitProducerIdRequest(version=1, transactional_id=None, transaction_timeout_ms=60_000)
        answers.append(context.ask(node)(request))
        return not answers[-1].error_code

    context.require(is_known, 15, "a producer id")
    return int(answers[-1].producer_id)


CLAIM = Claim(
    id="B20",
    title="lost sequence numbers",
    text="Idempotence depends on the log. A leader that lacks acknowledged records lacks their sequence numbers as "
    "well: it refuses the producer's next write with OUT_OF_ORDER_SEQUENCE_NUMBER, and takes it in a new epoch, "
    "behind the gap.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-360%3A+Improve+reliability+of+idempotent%2F"
    "transactional+producer",
    cases=BOTH_MODES,
    show=show,
)
