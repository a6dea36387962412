"""Two producers, one of them idempotent, send to a leader that does not receive it. Leadership moves, and they send
another record, to the new leader. Then the first request has timed out, and is sent again.

Exercised: the first record was in flight when the producer that is not idempotent got the acknowledgement of the
second one.
"""

from __future__ import annotations

from nemesis.faults.cut_clients import cut_clients
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import another_leader, elect_preferred

PATIENCE = 10_000
"""ms after which a producer sends again: time for leadership to move and for producers to learn of it."""

LEARN = 1.5
"""Seconds for producers to learn of the new leader; they ask twice a second."""

SETTINGS = {
    "request_timeout_ms": PATIENCE,
    "delivery_timeout_ms": 40_000,
    "retries": 20,
    "metadata_max_age_ms": 500,
}


def show(context: ScenarioContext) -> Answer:
    leader, other, third = context.brokers
    topics = {name: context.topic((leader, other, third)) for name in ("plain", "idempotent")}
    for topic in topics.values():
        context.cluster.kafka.reassign(topic, 0, (other, leader, third))
    context.require(
        lambda: all(context.view(topic).replicas[0] == other for topic in topics.values()),
        10,
        "the order of replicas has changed",
    )
    producers = {
        name: context.producer(enable_idempotence=name == "idempotent", **SETTINGS) for name in topics
    }
    for name, producer in producers.items():
        producer.send(topics[name], b"before", partition=0).get(timeout=10)
    with context.cluster.fault(cut_clients(leader, one_way="in")):
        first = {
            name: producer.send(topics[name], b"first", partition=0) for name, producer in producers.items()
        }
        elect_preferred(context, *topics.values(), at=other)
        for topic in topics.values():
            another_leader(context, topic, leader, at=other)
        context.wait(lambda: False, LEARN)
        second = {
            name: producer.send(topics[name], b"second", partition=0) for name, producer in producers.items()
        }
        second["plain"].get(timeout=10)
        exercised(not first["plain"].is_done, "the first record was not in flight any more")
        for sent in (*first.values(), *second.values()):
            sent.get(timeout=30)
    found = {name: [*context.read(topic).values()] for name, topic in topics.items()}
    return Answer(
        holds=found == {"plain": ["before", "second", "first"], "idempotent": ["before", "first", "second"]},
        seen="; ".join(
            f"the log of the {name} producer is {', '.join(values)}" for name, values in found.items()
        ),
        figures={name: " ".join(values) for name, values in found.items()},
    )


CLAIM = Claim(
    id="E6",
    title="a retry comes behind later records",
    text="With retries and several requests in flight, a producer that is not idempotent writes out of order: what "
    "it sends again comes behind what it has sent later. An idempotent one keeps the order.",
    source="https://kafka.apache.org/documentation/#producerconfigs_max.in.flight.requests.per.connection",
    cases=CURRENT,
    show=show,
)
