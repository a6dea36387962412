"""Two producers, one after the other, write records with 20 keys in batches to six partitions.

Exercised: more than one partition got records.
"""

from __future__ import annotations

from collections import defaultdict

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

PARTITIONS, KEYS, RECORDS = 6, 20, 1000


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(*[context.brokers] * PARTITIONS)
    for half in (range(RECORDS // 2), range(RECORDS // 2, RECORDS)):
        producer = context.producer(linger_ms=20)
        for number in half:
            key = f"k{number % KEYS}"
            producer.send(topic, key=key.encode(), value=f"{key}:{number}".encode())
        producer.flush(timeout=20)
    numbers, partitions = defaultdict(list), defaultdict(set)
    for partition in range(PARTITIONS):
        for value in context.read(topic, partition=partition).values():
            key, _, sent = value.partition(":")
            numbers[key].append(int(sent))
            partitions[key].add(partition)
    used = len(set().union(*partitions.values()))
    exercised(used > 1 and sum(map(len, numbers.values())) == RECORDS, f"{used} partitions got records")
    moved = [key for key, where in partitions.items() if len(where) > 1]
    disordered = [key for key, found in numbers.items() if found != sorted(found)]
    return Answer(
        holds=not moved and not disordered,
        seen=f"{KEYS} keys on {used} partitions: {len(moved)} on several ones, {len(disordered)} out of order",
        figures={"keys": KEYS, "partitions": used, "keys out of order": len(disordered)},
    )


CLAIM = Claim(
    id="A5",
    title="keys keep partition and order",
    text="All records of a key are in one partition, in the order in which they were sent, although they are sent "
    "in batches.",
    source="https://kafka.apache.org/documentation/#intro_concepts_and_terms",
    cases=CURRENT,
    show=show,
)
