"""Followers get no records, so the answer to acks=all comes too late for two producers, one of them idempotent.

Exercised: the producer that is not idempotent had sent its record more than once.
"""

from __future__ import annotations

from nemesis.faults.partition import partition
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

PATIENCE = 700
"""ms after which a producer sends again. The ISR shrinks after 2 to 3 s."""

RECORDS = 5


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 1})
    leader, *followers = context.view(topic).replicas
    settings = {"request_timeout_ms": PATIENCE, "delivery_timeout_ms": 30_000, "retries": 20}
    producers = {
        "plain": context.producer(enable_idempotence=False, **settings),
        "idempotent": context.producer(enable_idempotence=True, **settings),
    }
    for name, producer in producers.items():
        producer.send(topic, f"{name}-first".encode(), partition=0).get(timeout=20)
    with context.cluster.fault(partition([[leader], followers], plane="replication")):
        sends = [
            producer.send(topic, f"{name}{number}".encode(), partition=0)
            for number in range(RECORDS)
            for name, producer in producers.items()
        ]
        for each in sends:
            each.get(timeout=30)
    found = list(context.read(topic).values())
    times = {name: [found.count(f"{name}{number}") for number in range(RECORDS)] for name in producers}
    exercised(max(times["plain"]) > 1, f"no record of the plain producer was sent again: {times}")
    return Answer(
        holds=min(times["plain"]) >= 1 and times["idempotent"] == [1] * RECORDS,
        seen=f"the log has up to {max(times['plain'])} copies of a record of the plain producer, and "
        f"{max(times['idempotent'])} of each of the idempotent one",
        figures={"copies, plain": max(times["plain"]), "copies, idempotent": max(times["idempotent"])},
    )


CLAIM = Claim(
    id="E5",
    title="a late answer is sent again",
    text="A producer whose answer does not come in time sends again, although the broker has the record. Without "
    "idempotence the record is in the log more than once then, with it once.",
    source="https://kafka.apache.org/documentation/#producerconfigs_enable.idempotence",
    cases=CURRENT,
    show=show,
)
