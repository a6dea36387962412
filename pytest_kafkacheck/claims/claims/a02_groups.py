"""Two groups of two members each read a topic with four partitions, while it is written.

Exercised: every member got records.
"""

from __future__ import annotations

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

PARTITIONS, RECORDS = 4, 400


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(*[context.brokers] * PARTITIONS)
    groups = {name: [context.member(f"{topic}-{name}", topic) for _ in range(2)] for name in ("one", "other")}
    context.require(
        lambda: all(len(member.partitions) == 2 for each in groups.values() for member in each),
        20,
        "every member has two partitions",
    )
    producer = context.producer()
    for number in range(RECORDS):
        producer.send(topic, f"v{number}".encode(), partition=number % PARTITIONS)
    producer.flush(timeout=20)
    context.wait(lambda: all(sum(len(m.consumed) for m in each) >= RECORDS for each in groups.values()), 15)
    exercised(all(member.consumed for each in groups.values() for member in each), "a member got no records")
    got = {
        name: [record[1:] for member in each for record in member.consumed] for name, each in groups.items()
    }
    shared = {name: each[0].partitions & each[1].partitions for name, each in groups.items()}
    return Answer(
        holds=all(len(records) == len(set(records)) == RECORDS for records in got.values())
        and not any(shared.values()),
        seen=", ".join(
            f"group {name} got {len(set(records))} of {RECORDS} records" for name, records in got.items()
        )
        + f"; partitions of two members: {sum(map(len, shared.values()))}",
        figures={
            "records of each group": RECORDS,
            "partitions with two owners": sum(map(len, shared.values())),
        },
    )


CLAIM = Claim(
    id="A2",
    title="groups and owners",
    text="Every group gets every record. Within a group each partition has one owner at a time.",
    source="https://kafka.apache.org/documentation/#intro_consumers",
    cases=CURRENT,
    show=show,
)
