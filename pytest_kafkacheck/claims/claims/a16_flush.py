"""A program with a Java producer copies inputs: it sends their outputs, calls flush(), commits its position and is
killed. Its first outputs compress well, so the producer puts the others into a batch that is too large for the topic.
The leader refuses that, and the producer splits it. A quota makes the producer wait before it sends the parts.

Exercised: the leader refused a batch as too large, and the position was committed after the answer to flush().
"""

from __future__ import annotations

import json
import secrets
import time
from functools import partial

from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from nemesis.tasks import in_thread
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import KRAFT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.request_log import PRODUCE, logging_requests
from pytest_kafkacheck.claims.throttle import throttled

BATCH, LARGEST = 16_384, 18_000
"""Bytes: batch.size, and max.message.bytes of the topic. Batches that are not compressed well fit into both."""

COMPRESSIBLE = 120
"""Batches, after each of which the library expects the next one to be smaller by 0.5 % of its size before it."""

RECORDS, SIZE = 32, 1000
"""Inputs that fill one batch by the library's expectation, and bytes of each. Base64 compresses to three quarters."""

THROTTLE = 4.0
"""Seconds before the parts of the batch are sent."""

PATIENCE = 2.5
"""Seconds for an early answer to flush(), after which the quota is lifted."""

FLUSH_LIMIT = 40.0
"""Seconds."""

TOO_LARGE = 10
"""Error code."""


def show(context: ScenarioContext) -> Answer:
    source, output = context.topic(), context.topic(config={"max.message.bytes": LARGEST})
    inputs = [f"{number:03}-{secrets.token_urlsafe(SIZE)[: SIZE - 4]}" for number in range(RECORDS)]
    context.write(source, inputs)
    log = TopicPartition(source, 0)
    consumer = context.consumer(source, group_id=f"{source}-group")
    client = context.java_client()
    client.open_producer(
        output,
        client_id=output, batch_size=BATCH, linger_ms=10_000, compression_type="gzip",
        max_in_flight_requests_per_connection=1, delivery_timeout_ms=30_000,
    )  # fmt: skip
    for _ in range(COMPRESSIBLE):
        client.send([((output, 0), "a" * SIZE)])
        client.call("flush", limit=FLUSH_LIMIT)
    leader = context.view(output).leader
    with logging_requests(context, leader) as logged:
        with throttled(context, output, size=RECORDS * SIZE * 3 // 4, seconds=THROTTLE):
            sent = client.send(((output, 0), value) for value in inputs)
            began = time.monotonic()
            flush = in_thread(partial(client.call, "flush", limit=FLUSH_LIMIT), "kafkacheck-flush")
            context.wait(flush.done, PATIENCE)
        flush.result()
        took = round(time.monotonic() - began, 1)
        pending = sum(number not in client.completed for number in sent)
        consumer.commit({log: OffsetAndMetadata(RECORDS, "", -1)})
        client.kill()
        answers = [json.dumps(each.answer) for each in logged[leader]() if each.key == PRODUCE]
    committed = context.committed(f"{source}-group", source)
    exercised(committed == RECORDS, f"the committed position is {committed}")
    exercised(
        any(f'"errorCode": {TOO_LARGE}' in each for each in answers),
        "the leader refused no batch as too large",
    )
    missing = len(set(inputs) - set(context.read(output).values()))
    return Answer(
        holds=not pending and not missing,
        seen=f"when flush() returned, {pending} of {RECORDS} records were not completed; the program committed its "
        f"position and was killed, and {missing} of its outputs are missing",
        figures={"not completed": pending, "missing outputs": missing, "flush() took (s)": took},
    )


CLAIM = Claim(
    id="A16",
    title="flush",
    text="When flush() of the Java producer has returned, all records sent before are completed. So a program that "
    "flushes, commits its position and crashes has no missing output.",
    source="https://issues.apache.org/jira/browse/KAFKA-19479",
    cases=(
        Case(name="4.1.1 client 4.1.1", cluster=KRAFT, client="4.1.1"),
        Case(
            name="4.1.1 client 4.1.0",
            cluster=KRAFT,
            client="4.1.0",
            expected="refuted",
            why="flush() of clients before 4.1.1 does not wait for the parts of a batch that was split (KAFKA-19479)",
        ),
    ),
    show=show,
)
