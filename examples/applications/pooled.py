"""As copier.py, with a flaw: a pool of threads makes the invoices, so that those of one customer may change places.

With `mended` as its last argument, all orders of a customer go to the same thread.

Usage: pooled.py BOOTSTRAP SOURCE SINK GROUP CLIENT [mended]
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

from kafka import KafkaConsumer, KafkaProducer

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
mended = rest == ["mended"]
THREADS = 4
running = True


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = KafkaConsumer(
    source,
    bootstrap_servers=bootstrap.split(","),
    group_id=group,
    client_id=client,
    enable_auto_commit=False,
    auto_offset_reset="earliest",
    session_timeout_ms=6000,
    heartbeat_interval_ms=1000,
    max_poll_records=100,
)
producer = KafkaProducer(
    bootstrap_servers=bootstrap.split(","), client_id=client, acks="all", enable_idempotence=True
)
pool = ThreadPoolExecutor(THREADS)
threads = [ThreadPoolExecutor(1) for _ in range(THREADS)]


def invoice(order):
    time.sleep(random.uniform(0.001, 0.01))  # asks another service
    value = json.dumps({"of": json.loads(order.value)["id"]}).encode()
    return producer.send(sink, key=order.key, value=value)


def of(order):
    return threads[zlib.crc32(order.key) % THREADS] if mended else pool


while running:
    batches = consumer.poll(timeout_ms=1000)
    sends = [of(order).submit(invoice, order) for orders in batches.values() for order in orders]
    for send in sends:
        send.result().get(timeout=30)
    if sends:
        consumer.commit()
consumer.close()
producer.close()
