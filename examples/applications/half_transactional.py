"""As exactly_once.py, with a flaw: its invoices are written in a transaction, and its positions are committed beside
it. A crash in between repeats the invoices or loses them.

Usage: half_transactional.py BOOTSTRAP SOURCE SINK GROUP CLIENT
"""

from __future__ import annotations

import json
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer

bootstrap, source, sink, group, client = sys.argv[1:]
LIMIT = 5.0
"""Seconds for one call."""
running = True


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
producer = Producer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "transactional.id": client,
        "transaction.timeout.ms": 10_000,
    }
)
consumer = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
    }
)
try:
    producer.init_transactions(LIMIT)
    consumer.subscribe([source])
    while running:
        orders = [order for order in consumer.consume(num_messages=50, timeout=0.2) if not order.error()]
        if not orders:
            continue
        producer.begin_transaction()
        for order in orders:
            invoice = json.dumps({"of": json.loads(order.value())["id"]}).encode()
            producer.produce(sink, key=order.key(), value=invoice)
        producer.commit_transaction(LIMIT)
        time.sleep(0.05)  # a report, or a cache, comes before the positions
        consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
except KafkaException as error:
    sys.exit(str(error))
finally:
    consumer.close()
