"""As exactly_once.py, with orders that wait in memory, and with a flaw: it has no rebalance listener. While another
instance begins with a partition, it goes on with orders of it that wait, and commits them, too.

With `mended` as its last argument, it drops the orders of partitions that it gives back.

Usage: unaware.py BOOTSTRAP SOURCE SINK GROUP CLIENT [mended]
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import deque

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
mended = rest == ["mended"]
LIMIT = 5.0
"""Seconds for one call."""
BATCH_LIMIT = 8
"""Seconds for a batch, and for leaving the group, see exactly_once.py."""
WORK = 0.2
"""Seconds for a batch."""
BATCH = 20
MOST = 400
"""Orders that may wait."""
waiting: deque = deque()
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
        "partition.assignment.strategy": "cooperative-sticky",  # what an instance keeps, it goes on with
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
    }
)


def process(orders):
    signal.alarm(BATCH_LIMIT)
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
    signal.alarm(0)


def drop(_, gone):
    """The next owner begins behind the last transaction, so it reads these orders."""
    logs = {(each.topic, each.partition) for each in gone}
    kept = [order for order in waiting if (order.topic(), order.partition()) not in logs]
    waiting.clear()
    waiting.extend(kept)


try:
    producer.init_transactions(LIMIT)
    consumer.subscribe([source], **({"on_revoke": drop, "on_lost": drop} if mended else {}))
    while running:
        # A call with a limit of 0 also takes part in a rebalance, and may give partitions back.
        most = min(MOST - len(waiting), 50)
        orders = consumer.consume(num_messages=most, timeout=0 if waiting else 0.2) if most else []
        for order in orders:
            if order.error():
                raise KafkaException(order.error())
        waiting.extend(orders)
        if waiting:
            process([waiting.popleft() for _ in range(min(BATCH, len(waiting)))])
except KafkaException as error:
    sys.exit(str(error))
finally:
    signal.alarm(BATCH_LIMIT)
    consumer.close()
