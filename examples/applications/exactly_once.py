"""An application: reads orders, writes an invoice of each, exactly once.

The invoices of a batch and the positions behind it are one transaction. An error ends the process; its supervisor
starts it again, it aborts what it had begun, and goes on from the positions of the last transaction. In
confluent-kafka.

Python runs the handler of SIGTERM only between two calls to the client, so each call has a limit. One of them does
not keep to it: while the coordinator of the group does not answer, send_offsets_to_transaction() waits for ever
(issue 5456 of librdkafka). So SIGALRM, which has no handler in Python, ends a process whose batch takes too long.

Usage: exactly_once.py BOOTSTRAP SOURCE SINK GROUP CLIENT [SECONDS OF WORK PER BATCH]
"""

from __future__ import annotations

import json
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
work = float(rest[0]) if rest else 0.05
running = True

LIMIT = 5.0
"""Seconds for one call."""

BATCH_LIMIT = 8
"""Seconds for a batch, and for leaving the group."""


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
producer = Producer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "transactional.id": client,  # that of the process that it replaces: whose transaction is aborted then
        "transaction.timeout.ms": 10_000,  # readers wait for a transaction that nobody goes on with
    }
)
consumer = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",  # also: begin at no position that a transaction may still change
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
    }
)


def process(orders):
    signal.alarm(BATCH_LIMIT)
    producer.begin_transaction()
    for order in orders:
        invoice = json.dumps({"of": json.loads(order.value())["id"]}).encode()
        producer.produce(sink, key=order.key(), value=invoice)
    time.sleep(work)
    positions = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), LIMIT)
    producer.commit_transaction(LIMIT)  # raises when an invoice could not be written
    signal.alarm(0)
    print(f"{len(orders)} invoices", flush=True)


try:
    producer.init_transactions(LIMIT)
    consumer.subscribe([source])
    while running:
        orders = consumer.consume(num_messages=50, timeout=0.2)
        for order in orders:
            if order.error():
                raise KafkaException(order.error())
        if orders:
            process(orders)
except KafkaException as error:
    sys.exit(str(error))
finally:
    signal.alarm(BATCH_LIMIT)
    consumer.close()  # leaves the group, so that others need not wait for the session to expire
