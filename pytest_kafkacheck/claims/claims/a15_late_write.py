"""A client writes in a transaction, gets no answer, and aborts it. The write arrives when the transaction has ended:
the kernel drops its packets where they arrive, and TCP sends them again until they pass.

Exercised: packets were dropped, the broker's kernel had received nothing of the write when all of the aborted
transaction had ended at the partition, and the answer to it came afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import KRAFT, OLDEST, TRANSACTION_VERSION, ZOOKEEPER
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.held_back import held_back
from pytest_kafkacheck.claims.late_end import succeeds
from pytest_kafkacheck.claims.produce import error_code
from pytest_kafkacheck.claims.transactional_producer import TransactionalProducer

ENDED = 2
"""Log end after a record and the abort marker."""

AWAIT = 3.0
"""Seconds for the last stable offset to reach the end."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader = context.view(topic).leader
    producer = TransactionalProducer(context, topic)
    succeeds(context, "a partition in the transaction", producer.add_partition)
    succeeds(context, "a write in the transaction", lambda: producer.send("aborted"))
    with held_back(context, leader, producer.write("late")) as late:
        abort = producer.end(commit=False)
        succeeds(context, "the abort", lambda: producer.ended(abort))
        context.require(lambda: _open(context, topic, leader) == 0, 10, "the transaction has ended")
        code = error_code(late.deliver())
    context.write(topic, ["behind"])
    seen: list[int] = []

    def is_readable() -> bool:
        seen.append(_open(context, topic, leader))
        return seen[-1] == 0

    context.wait(is_readable, AWAIT)
    exercised(bool(seen), "the marks of the partition are not known")
    hidden = seen[-1]
    committed = [*context.read(topic, isolation_level="read_committed").values()]
    return Answer(
        holds=not hidden and committed == ["behind"],
        seen=f"the late write was answered {late.seconds} s after it was sent, with error {code}; {hidden} offsets "
        f"are above the last stable offset, committed readers get {', '.join(committed) or 'nothing'}",
        figures={
            "late by (s)": late.seconds,
            "error of the late write": code,
            "hidden from committed readers": hidden,
        },
    )


def _open(context: ScenarioContext, topic: str, leader: int) -> int:
    """Offsets that an open transaction hides. Raises ConnectionError while not everything is replicated."""
    marks, end = context.marks(topic, leader), context.end(topic, leader)
    if marks.high_watermark < max(end, ENDED) or marks.last_stable is None:
        raise ConnectionError(f"high watermark {marks.high_watermark}, log end {end}")
    return marks.high_watermark - marks.last_stable


WHY = (
    "nothing asks the coordinator whether the transaction is open, and all transactions of a producer have the same "
    "epoch: the write opens one that nobody ends (KAFKA-14402)"
)

CLAIM = Claim(
    id="A15",
    title="a late write opens no transaction",
    text="A transactional write that arrives when its transaction has been aborted is refused. It opens no "
    "transaction that nobody ends, which would hide everything behind it from consumers that read committed records.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-890%3A+Transactions+Server-Side+Defense",
    cases=(
        Case(name="4.1.1", cluster=KRAFT),
        Case(name="4.1.1 transaction.version=1", cluster=replace(KRAFT, features={TRANSACTION_VERSION: 1})),
        Case(name="3.9.2 ZooKeeper", cluster=ZOOKEEPER),
        Case(
            name="3.9.2 without verification",
            cluster=replace(ZOOKEEPER, config={"transaction.partition.verification.enable": "false"}),
            expected="refuted",
            why=WHY,
        ),
        Case(name="2.8.2 ZooKeeper", cluster=OLDEST, expected="refuted", why=WHY),
    ),
    show=show,
)
