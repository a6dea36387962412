"""A follower is paused, so the answer to acks=all comes too late for two producers, one of them idempotent.

Each record is a request of its own, and the leader writes down the requests that it answers.

Exercised: the leader got more requests of either producer than the producer had records.
"""

from __future__ import annotations

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.request_log import PRODUCE, logging_requests

PATIENCE = 700
"""ms after which a producer sends again. The ISR shrinks 2 to 3 s after the follower's last fetch, so the records
must be sent soon after it. Hence a pause, which begins at once: a cut has rules to install and to verify on each
node."""

RECORDS = 5


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 1})
    leader, follower, *_ = context.view(topic).replicas
    # batch_size=0: no record shares a request with another one.
    settings = {"request_timeout_ms": PATIENCE, "delivery_timeout_ms": 30_000, "retries": 20, "batch_size": 0}
    producers = {
        name: context.producer(
            enable_idempotence=name == "idempotent", client_id=f"{topic}-{name}", **settings
        )
        for name in ("plain", "idempotent")
    }
    for name, producer in producers.items():
        producer.send(topic, f"{name}-first".encode(), partition=0).get(timeout=20)
    with logging_requests(context, leader) as logged:
        with context.cluster.fault(pause(follower)):
            sends = [
                producer.send(topic, f"{name}{number}".encode(), partition=0)
                for number in range(RECORDS)
                for name, producer in producers.items()
            ]
            for each in sends:
                each.get(timeout=30)
        asked = [request.client for request in logged[leader]() if request.key == PRODUCE]
    requests = {name: asked.count(f"{topic}-{name}") for name in producers}
    for name, number in requests.items():
        exercised(
            number > RECORDS, f"the leader got {number} requests of the {name} producer for {RECORDS} records"
        )
    found = list(context.read(topic).values())
    times = {name: [found.count(f"{name}{number}") for number in range(RECORDS)] for name in producers}
    return Answer(
        holds=min(times["plain"]) >= 1 and max(times["plain"]) > 1 and times["idempotent"] == [1] * RECORDS,
        seen=f"for {RECORDS} records each, the leader got {requests['plain']} requests of the plain producer and "
        f"{requests['idempotent']} of the idempotent one; the log has up to {max(times['plain'])} copies of a record "
        f"of the plain one, and {max(times['idempotent'])} of each of the idempotent one",
        figures={
            "requests, plain": requests["plain"],
            "requests, idempotent": requests["idempotent"],
            "copies, plain": max(times["plain"]),
            "copies, idempotent": max(times["idempotent"]),
        },
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
