"""A Java producer writes to topic A, whose leader is paused before it has read the request. The records of A time out
while a part of the request is still in the client. Then the producer writes to topic B on another broker, and the
leader of A goes on.

A request holds a record of each partition of A. Every other one is large, so that together they are more than the
sockets on the way take. A quota makes the producer wait before it sends the request: it is younger then than its
records, which time out first.

Exercised: all records of A ended with a time-out, those of B are acknowledged, and A has small records all the same.
"""

from __future__ import annotations

from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import PATIENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.throttle import throttled

PAIRS = 24
"""Of a large and a small record in the request."""

LARGE, SMALL = 700_000, 1000
"""Bytes. Socket buffers on the way to a broker in a container hold 5 to 10 MB of 17 MB."""

FIRST = 60_000
"""Bytes of the record after which the producer has to wait."""

THROTTLE = 4.0
"""Seconds from the first answer of A's leader to the request."""

TIMEOUT_MS = 8000
"""request.timeout.ms and delivery.timeout.ms. Records end so long after send(), and requests after they are sent."""

LIMIT = 20.0
"""Seconds for records to time out, to be acknowledged, or to arrive."""


def show(context: ScenarioContext) -> Answer:
    paused, other, _ = context.brokers
    a, b = context.topic(*[[paused]] * (2 * PAIRS)), context.topic(*[[other]] * PAIRS)
    client = context.java_client()
    client.open_producer(
        a, b,
        idempotence=False,
        client_id=a, linger_ms=0, request_timeout_ms=TIMEOUT_MS, delivery_timeout_ms=TIMEOUT_MS,
        max_request_size=1 << 25, max_block_ms=30_000,
    )  # fmt: skip
    with throttled(context, a, size=FIRST, seconds=THROTTLE):
        first = client.send([((a, 0), "first".ljust(FIRST, "."))])
        context.require(lambda: client.errors(first) == [""], 10, "the first record is acknowledged")
        of_a = client.send(
            ((a, number), (f"a{number} ").ljust(SMALL if number % 2 else LARGE, "."))
            for number in range(2 * PAIRS)
        )
        with context.cluster.fault(pause(paused)):
            context.require(lambda: client.are_completed(of_a), LIMIT, "all records of A ended")
            of_b = client.send(((b, number), f"b{number} ".ljust(SMALL, ".")) for number in range(PAIRS))
            context.require(lambda: client.are_completed(of_b), LIMIT, "all records of B ended")
    ends = {"A": set(client.errors(of_a)), "B": set(client.errors(of_b))}
    exercised(ends == {"A": {"REQUEST_TIMED_OUT"}, "B": {""}}, f"records ended with {ends}")
    context.wait(lambda: all(context.end(a, paused, number) for number in range(2 * PAIRS)), LIMIT / 4)
    found = [
        value for number in range(1, 2 * PAIRS, 2) for value in context.read(a, partition=number).values()
    ]
    exercised(bool(found), "no small record of the request has arrived")
    misrouted = sum(value.startswith("b") for value in found)
    return Answer(
        holds=not misrouted,
        seen=f"topic A has {len(found)} of {PAIRS} small records that timed out; {misrouted} of them were sent to "
        f"topic B only",
        figures={"late records": len(found), "of another topic": misrouted},
    )


CLAIM = Claim(
    id="A17",
    title="a record stays in its topic",
    text="A record that a Java producer sends to one topic is in no other one, although requests time out and the "
    "producer uses their memory again.",
    source="https://issues.apache.org/jira/browse/KAFKA-19012",
    cases=(
        Case(name="4.1.1 client 4.1.2", cluster=PATIENT, client="4.1.2"),
        Case(
            name="4.1.1 client 4.1.1",
            cluster=PATIENT,
            client="4.1.1",
            expected="refuted",
            why="clients since 2.8.0, in the line 4.1 up to 4.1.1, use the memory of a batch that timed out again, "
            "while its request is being sent (KAFKA-19012)",
        ),
    ),
    show=show,
)
