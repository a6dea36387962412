"""A consumer in a follower's rack looks for each record as soon as it was acknowledged; so does one in the
leader's rack. For further records of each, both brokers write down the requests that they answer.

Exercised: these records of the first consumer came from the follower, and those of the second one from the leader.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from statistics import median
from typing import Any

from kafka import TopicPartition

from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import RACKS
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.request_log import FETCH, Request, logging_requests

WRITES = 20
PROVED = 5
"""Writes of which the brokers say who served them."""

AT_ONCE = 0.05
"""Seconds within which a read counts as at once."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(config={"min.insync.replicas": 2})
    leader, follower, _ = context.view(topic).replicas
    log, producer = TopicPartition(topic, 0), context.producer()
    producer.send(topic, b"first", partition=0).get(timeout=10)
    delays, served = {}, {}
    for node in (leader, follower):
        rack, client = context.cluster.spec.rack_of(node), f"{topic}-at-{node}"
        consumer = context.consumer(topic, client_rack=rack, client_id=client, fetch_max_wait_ms=10)
        context.require(partial(consumer.poll, timeout_ms=300), 10, "the first record")
        delays[node] = [_delay(consumer, producer, log) for _ in range(WRITES)]
        # Not meanwhile: a broker that writes each request down is slower.
        with logging_requests(context, leader, follower) as logged:
            for _ in range(PROVED):
                _delay(consumer, producer, log)
            served[node] = {at: _with_records(read(), client) for at, read in logged.items()}
    for node, other in ((follower, leader), (leader, follower)):
        exercised(
            served[node][node] > 0 and not served[node][other],
            f"answers with records for the consumer in the rack of broker {node}, by broker: {served[node]}",
        )
    missed = {node: sum(delay > AT_ONCE for delay in each) for node, each in delays.items()}
    return Answer(
        holds=missed[follower] >= WRITES // 2 and missed[leader] <= WRITES // 10,
        seen=f"not there within {AT_ONCE * 1000:.0f} ms of the acknowledgement: {missed[follower]} of "
        f"{WRITES} records at the follower, {missed[leader]} at the leader",
        figures={
            "missed at the follower": f"{missed[follower]} of {WRITES}",
            "missed at the leader": f"{missed[leader]} of {WRITES}",
            "median delay at the follower (ms)": round(median(delays[follower]) * 1000),
            "answers with records of the follower": served[follower][follower],
        },
    )


def _with_records(requests: Iterable[Request], client: str) -> int:
    """How many answers brought this client records."""
    return sum(
        partition["recordsSizeInBytes"] > 0
        for request in requests
        if request.key == FETCH and request.client == client
        for topic in request.answer["responses"]
        for partition in topic["partitions"]
    )


def _delay(consumer: Any, producer: Any, log: TopicPartition) -> float:
    """Seconds from the acknowledgement of a record to its read."""
    offset = producer.send(log.topic, b"v", partition=log.partition).get(timeout=10).offset
    began = time.monotonic()
    while time.monotonic() - began < 10:
        for record in consumer.poll(timeout_ms=10).get(log, ()):
            if record.offset >= offset:
                return time.monotonic() - began
    return time.monotonic() - began


CLAIM = Claim(
    id="B4",
    title="stale reads from followers",
    text="A consumer that reads from a follower (KIP-392) misses its own acknowledged writes for a while: in "
    "a healthy cluster by up to replica.fetch.wait.max.ms.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-392%3A+Allow+consumers+to+fetch+from+closest+replica",
    cases=(Case(name="4.1.1 racks", cluster=RACKS),),
    show=show,
)
