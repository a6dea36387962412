"""As copier.py, with a flaw: it logs an invoice that could not be sent, and goes on. Its order stays without one.

With `mended` as its last argument, such an error ends it, before it has committed its positions.

Usage: careless.py BOOTSTRAP SOURCE SINK GROUP CLIENT [mended]
"""

from __future__ import annotations

import json
import logging
import signal
import sys

from kafka import KafkaConsumer, KafkaProducer

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
mended = rest == ["mended"]
log = logging.getLogger("invoices")
logging.basicConfig(level=logging.WARNING)
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
    bootstrap_servers=bootstrap.split(","),
    client_id=client,
    acks="all",
    enable_idempotence=True,
    request_timeout_ms=2000,
    delivery_timeout_ms=4000,
    max_block_ms=4000,
)
while running:
    batches = consumer.poll(timeout_ms=200)
    invoices = [
        producer.send(sink, key=order.key, value=json.dumps({"of": json.loads(order.value)["id"]}).encode())
        for orders in batches.values()
        for order in orders
    ]
    for invoice in invoices:
        try:
            invoice.get(timeout=10)
        except Exception as error:
            if mended:
                sys.exit(f"an invoice could not be sent: {error}")
            log.warning("an invoice could not be sent: %s", error)
    if invoices:
        consumer.commit()
consumer.close()
producer.close()
