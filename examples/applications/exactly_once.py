"""As copier.py, exactly once: the invoices and the positions are in one transaction (KIP-447).

Usage: exactly_once.py BOOTSTRAP SOURCE SINK GROUP TRANSACTIONAL_ID [SECONDS OF WORK PER BATCH]
"""

from __future__ import annotations

import json
import signal
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata

bootstrap, source, sink, group, transactional_id, *rest = sys.argv[1:]
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
    enable_auto_commit=False,
    auto_offset_reset="earliest",
    isolation_level="read_committed",
    session_timeout_ms=6000,
    heartbeat_interval_ms=1000,
    max_poll_records=50,
)
producer = KafkaProducer(
    bootstrap_servers=bootstrap.split(","), transactional_id=transactional_id, transaction_timeout_ms=10_000
)
producer.init_transactions()
while running:
    batches = consumer.poll(timeout_ms=200)
    if not batches:
        continue
    producer.begin_transaction()
    for orders in batches.values():
        for order in orders:
            invoice = json.dumps({"of": json.loads(order.value)["id"]}).encode()
            producer.send(sink, key=order.key, value=invoice)
    time.sleep(work)
    positions = {
        partition: OffsetAndMetadata(orders[-1].offset + 1, "", -1) for partition, orders in batches.items()
    }
    producer.send_offsets_to_transaction(positions, consumer.group_metadata())
    producer.commit_transaction()
    print(f"{sum(map(len, batches.values()))} invoices", flush=True)
consumer.close()
producer.close()
