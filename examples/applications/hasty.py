"""As copier.py, with a flaw: it commits its positions before it has written the invoices. A crash in between loses
them."""

from __future__ import annotations

import json
import signal
import sys
import time

from kafka import KafkaConsumer, KafkaProducer

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
work = float(rest[0]) if rest else 0.05
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
    max_poll_records=50,
)
producer = KafkaProducer(
    bootstrap_servers=bootstrap.split(","), client_id=client, acks="all", enable_idempotence=True
)
while running:
    batches = consumer.poll(timeout_ms=1000)
    orders = [order for each in batches.values() for order in each]
    if orders:
        consumer.commit()
        time.sleep(work)
        for order in orders:
            invoice = json.dumps({"of": json.loads(order.value)["id"]}).encode()
            producer.send(sink, key=order.key, value=invoice)
        producer.flush(timeout=30)
        print(f"{len(orders)} invoices", flush=True)
consumer.close()
producer.close()
