"""What a client library does without kafkacheck, beside which recording.py measures."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workloads.roles.context import WorkerContext
from workloads.roles.producer import limits

SIZE = 100
PARTITIONS = 3
UNREACHABLE = {"kafka-python": 1e5, "confluent-kafka": 3e5, "java": 3e5}
"""Records per second that no client reaches."""

LIMIT = 300
"""Seconds for one measurement."""

Bare = Callable[[dict[str, Any], int], float]
"""Seconds that so many records took: of all, or the median of one."""


def servers(order: dict[str, Any]) -> list[str]:
    return [str(address) for address in WorkerContext(order, report=lambda _: None).bootstrap]


def kafka_python(order: dict[str, Any]) -> Any:
    from kafka import KafkaProducer

    from workloads.clients.kafka_python.producer import PRODUCER
    from workloads.clients.kafka_python.settings import COMMON

    return KafkaProducer(
        **COMMON, **PRODUCER, bootstrap_servers=servers(order), acks="all", enable_idempotence=True
    )


def kafka_python_sends(order: dict[str, Any], count: int) -> float:
    topic, value = next(iter(order["topics"])), bytes(SIZE)
    _, in_flight = limits(UNREACHABLE["kafka-python"], SIZE)
    producer = kafka_python(order)
    under_way: deque[Any] = deque()
    begun = time.monotonic()
    for number in range(count):
        if len(under_way) == in_flight:
            under_way.popleft().get(60)
        under_way.append(producer.send(topic, value=value, partition=number % PARTITIONS))
    for future in under_way:
        future.get(60)
    return time.monotonic() - begun


def kafka_python_latency(order: dict[str, Any], count: int) -> float:
    topic, value, producer = next(iter(order["topics"])), bytes(SIZE), kafka_python(order)
    taken = []
    for number in range(count):
        begun = time.monotonic()
        producer.send(topic, value=value, partition=number % PARTITIONS).get(10)
        taken.append(time.monotonic() - begun)
    return statistics.median(taken)


def kafka_python_reads(order: dict[str, Any], count: int) -> float:
    from kafka import KafkaConsumer, TopicPartition

    topic, found = next(iter(order["topics"])), 0
    consumer = KafkaConsumer(bootstrap_servers=servers(order), auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
    begun = time.monotonic()
    while found < count:
        found += sum(map(len, consumer.poll(200).values()))
    return time.monotonic() - begun


def confluent(order: dict[str, Any], **more: Any) -> Any:
    from confluent_kafka import Producer

    from workloads.clients.confluent.settings import COMMON

    bootstrap = ",".join(servers(order))
    return Producer(
        {**COMMON, "bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, **more}
    )


def confluent_sends(order: dict[str, Any], count: int) -> float:
    topic, value = next(iter(order["topics"])), bytes(SIZE)
    _, in_flight = limits(UNREACHABLE["confluent-kafka"], SIZE)
    producer = confluent(order, **{"queue.buffering.max.messages": in_flight})
    begun = time.monotonic()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value=value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.01)
    unsent = producer.flush()
    assert unsent == 0
    return time.monotonic() - begun


def confluent_latency(order: dict[str, Any], count: int) -> float:
    topic, value, producer = next(iter(order["topics"])), bytes(SIZE), confluent(order)
    taken: list[float] = []
    done: list[int] = []
    for number in range(count):
        done.clear()
        begun = time.monotonic()
        producer.produce(
            topic, value=value, partition=number % PARTITIONS, on_delivery=lambda *_: done.append(1)
        )
        while not done:
            producer.poll(1)
        taken.append(time.monotonic() - begun)
    return statistics.median(taken)


def confluent_reads(order: dict[str, Any], count: int) -> float:
    from confluent_kafka import Consumer, TopicPartition

    topic, found = next(iter(order["topics"])), 0
    bootstrap = ",".join(servers(order))
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bare", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    begun = time.monotonic()
    while found < count:
        found += len(consumer.consume(1000, 0.2))
    return time.monotonic() - begun


def java(way: str) -> Bare:
    """With the settings, the Java options and the release of `library="java"`."""

    def measured(order: dict[str, Any], count: int) -> float:
        from workloads.clients.command import settings
        from workloads.clients.java.program import command
        from workloads.clients.java.releases import release_in

        bootstrap = WorkerContext(order, report=lambda _: None).bootstrap
        given = (
            settings.consumer(bootstrap, committed=False, rack=None)
            if way == "reads"
            else settings.producer(bootstrap, acks="all", idempotence=True, settings={})
        )
        with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
            file.writelines(f"{name}={value}\n" for name, value in given.items())
            file.flush()
            *program, _ = (
                part for part in command(release_in(order["library"])) if "SharedArchive" not in part
            )
            source = str(Path(__file__).with_name("BareJava.java"))
            topic = next(iter(order["topics"]))
            values = [way, file.name, topic, str(PARTITIONS), str(count), str(SIZE)]
            done = subprocess.run(
                [*program, source, *values], check=True, capture_output=True, text=True, timeout=LIMIT
            )
        return float(done.stdout)

    return measured


BARE: Mapping[str, Mapping[str, Bare]] = {
    "kafka-python": {
        "sends": kafka_python_sends, "latency": kafka_python_latency, "reads": kafka_python_reads,
    },
    "confluent-kafka": {"sends": confluent_sends, "latency": confluent_latency, "reads": confluent_reads},
    "java": {way: java(way) for way in ("sends", "latency", "reads")},
}  # fmt: skip
