"""As copier.py, with a flaw: it sets an order aside that fails at first, and writes its invoice later. No order is
lost, but those of one customer do not stay in order."""

from __future__ import annotations

import json
import random
import signal
import sys

from kafka import KafkaConsumer, KafkaProducer

bootstrap, source, sink, group, client = sys.argv[1:]
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
    max_poll_records=200,
)
producer = KafkaProducer(
    bootstrap_servers=bootstrap.split(","), client_id=client, acks="all", enable_idempotence=True
)
random.seed(0)
while running:
    batches = consumer.poll(timeout_ms=1000)
    orders = [order for each in batches.values() for order in each]
    failed = [order for order in orders if random.random() < 0.2]
    for order in [*(each for each in orders if each not in failed), *failed]:
        invoice = json.dumps({"of": json.loads(order.value)["id"]}).encode()
        producer.send(sink, key=order.key, value=invoice)
    producer.flush(timeout=30)
    if orders:
        consumer.commit()
        print(f"{len(orders)} invoices, {len(failed)} at the second attempt", flush=True)
consumer.close()
producer.close()
