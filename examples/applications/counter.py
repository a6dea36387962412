"""An application: counts the orders of each customer, and writes each new count. A running aggregate.

Counts are part of its transactions, as its positions are, so that each order counts once. An instance that gets a
partition reads the counts of its customers first: each partition of the sink holds those of the same partition of the
source. Usage: counter.py BOOTSTRAP SOURCE SINK GROUP CLIENT [forgetful]; a forgetful one begins with 0.
"""

from __future__ import annotations

import signal
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
LIMIT = 20.0
"""Seconds for each answer."""

counts: dict[bytes, int] = {}
running = True


def stop(*_):
    global running
    running = False


def restore(_, assigned):
    if rest == ["forgetful"]:
        return
    reader = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"{client}-restore", "enable.partition.eof": True}
    )
    reader.assign([TopicPartition(sink, each.partition, 0) for each in assigned])
    left = {each.partition for each in assigned}
    while left:
        message = reader.poll(LIMIT)
        if message is None:
            sys.exit(f"the counts were not read within {LIMIT:g} s")
        if message.error():
            left.discard(message.partition())
        else:
            counts[message.key()] = int(message.value())
    reader.close()


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
    }
)
producer = Producer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "transactional.id": client,
        "transaction.timeout.ms": 10000,
    }
)
try:
    producer.init_transactions(LIMIT)
    consumer.subscribe([source], on_assign=restore)
    while running:
        orders = [each for each in consumer.consume(num_messages=50, timeout=0.2) if not each.error()]
        if not orders:
            continue
        producer.begin_transaction()
        for order in orders:
            counts[order.key()] = counts.get(order.key(), 0) + 1
            producer.produce(
                sink, key=order.key(), value=str(counts[order.key()]), partition=order.partition()
            )
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), LIMIT)
        producer.commit_transaction(LIMIT)
except KafkaException as error:
    sys.exit(str(error))
finally:
    consumer.close()
