"""As exactly_once.py, with a thread that makes the invoices, and with a flaw: it has no rebalance listener. While
another instance begins with a partition, the thread goes on with orders of it, and commits them, too.

With `mended` as its last argument, it lets the thread finish what it has in hand before it gives partitions back, and
leaves what waits to the others.

Usage: unaware.py BOOTSTRAP SOURCE SINK GROUP CLIENT [mended]
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import deque

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
mended = rest == ["mended"]
LIMIT = 5.0
"""Seconds for one call."""
WORK = 0.3
"""Seconds for a batch."""
MOST = 3
"""Batches that may wait for the thread."""
waiting: deque = deque()
in_hand = threading.Lock()
"""Held by the thread while it makes the invoices of a batch."""
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


def work():
    try:
        while running or waiting:
            with in_hand:
                if waiting:
                    process(waiting.popleft())
            time.sleep(0.01)
    except KafkaException as error:
        print(error, flush=True)
        os._exit(1)  # its supervisor starts it again, and the next process aborts the transaction


def process(orders):
    if not orders:
        return
    producer.begin_transaction()
    positions = {}
    for order in orders:
        invoice = json.dumps({"of": json.loads(order.value())["id"]}).encode()
        producer.produce(sink, key=order.key(), value=invoice)
        positions[order.topic(), order.partition()] = order.offset() + 1
    time.sleep(WORK)
    after = [TopicPartition(*log, offset) for log, offset in positions.items()]
    producer.send_offsets_to_transaction(after, consumer.consumer_group_metadata(), LIMIT)
    producer.commit_transaction(LIMIT)


def give_back(_, revoked):
    """The partitions still belong to this instance."""
    gone = {(each.topic, each.partition) for each in revoked}
    with in_hand:
        for orders in waiting:
            orders[:] = [order for order in orders if (order.topic(), order.partition()) not in gone]


def lose(*_):
    """The partitions belong to other instances already."""
    os._exit(1)


worker = threading.Thread(target=work)
try:
    producer.init_transactions(LIMIT)
    worker.start()
    consumer.subscribe([source], **({"on_revoke": give_back, "on_lost": lose} if mended else {}))
    while running:
        if len(waiting) >= MOST:
            consumer.pause(consumer.assignment())
            while running and waiting:
                waiting.extend([[order] for order in consumer.consume(num_messages=1, timeout=0.05)])
            consumer.resume(consumer.assignment())
        orders = consumer.consume(num_messages=50, timeout=0.2)
        if any(order.error() for order in orders):
            raise KafkaException(orders[-1].error())
        if orders:
            waiting.append(orders)
except KafkaException as error:
    print(error, flush=True)
    os._exit(1)
worker.join()
consumer.close()
