"""An application: reads orders, writes an invoice of each, at least once and in order.

It commits its positions after the brokers have acknowledged the invoices. An error ends it, and its supervisor starts
it again. Usage: copier.py BOOTSTRAP SOURCE SINK GROUP CLIENT [SECONDS OF WORK PER BATCH]
"""

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
    invoices = [
        producer.send(sink, key=order.key, value=json.dumps({"of": json.loads(order.value)["id"]}).encode())
        for orders in batches.values()
        for order in orders
    ]
    for invoice in invoices:
        invoice.get(timeout=30)
    if invoices:
        time.sleep(work)
        consumer.commit()
        print(f"{len(invoices)} invoices", flush=True)
consumer.close()
producer.close()
