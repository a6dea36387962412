"""As copier_confluent.py, with a flaw: a thread makes the invoices, while the client library commits positions by
timer (enable.auto.commit). A crash loses the orders that wait for the thread.

With `mended` as its last argument, positions are stored for the timer once the brokers have acknowledged the invoices
of all orders before them.

Usage: background.py BOOTSTRAP SOURCE SINK GROUP CLIENT [mended]
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
mended = rest == ["mended"]
WORK = 0.005
"""Seconds for an invoice."""
waiting: queue.Queue = queue.Queue(200)
BATCH = 50
written: queue.SimpleQueue = queue.SimpleQueue()
"""Orders whose invoices the brokers have acknowledged, in the order of each partition."""
running = True


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "group.id": group,
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 1000,
        "enable.auto.offset.store": not mended,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
    }
)
producer = Producer({"bootstrap.servers": bootstrap, "client.id": client, "enable.idempotence": True})


def make_invoices():
    batch = []
    while True:
        order = waiting.get()
        if order is not None:
            time.sleep(WORK)
            invoice = json.dumps({"of": json.loads(order.value())["id"]}).encode()
            producer.produce(sink, key=order.key(), value=invoice, on_delivery=delivered)
            batch.append(order)
        if order is None or len(batch) == BATCH or waiting.empty():
            # Invoices of one partition go to several, of which one may be late: only a flush waits for all.
            producer.flush()
            for each in batch:
                written.put(each)
            batch.clear()
        if order is None:
            return


def delivered(error, _):
    if error is not None:
        print(error, flush=True)
        os._exit(1)


def store():
    """The positions behind what is written, for the timer."""
    while not written.empty():
        order = written.get()
        position = TopicPartition(order.topic(), order.partition(), order.offset() + 1)
        with suppress(KafkaException):  # of another owner, who begins at the committed position
            consumer.store_offsets(offsets=[position])


worker = threading.Thread(target=make_invoices)
worker.start()
try:
    consumer.subscribe([source])
    while running:
        order = consumer.poll(0.1)
        if order is not None and order.error():
            raise KafkaException(order.error())
        if order is not None:
            waiting.put(order)
        if mended:
            store()
except KafkaException as error:
    print(error, flush=True)
    os._exit(1)
waiting.put(None)
worker.join()
if mended:
    store()
consumer.close()
