"""As copier_confluent.py, with a flaw: it logs an invoice that could not be sent, and goes on. Its order stays
without one.

With `mended` as its last argument, such an error ends it, before it has committed its positions.

Usage: careless.py BOOTSTRAP SOURCE SINK GROUP CLIENT [mended]
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
mended = rest == ["mended"]
log = logging.getLogger("invoices")
logging.basicConfig(level=logging.WARNING)
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
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
    }
)
producer = Producer(
    {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "enable.idempotence": True,
        "message.timeout.ms": 4000,
    }
)
failed = []


def delivered(error, _):
    if error is not None:
        log.warning("an invoice could not be sent: %s", error)
        failed.append(error)


try:
    consumer.subscribe([source])
    while running:
        orders = consumer.consume(num_messages=50, timeout=0.2)
        for order in orders:
            if order.error():
                raise KafkaException(order.error())
            invoice = json.dumps({"of": json.loads(order.value())["id"]}).encode()
            producer.produce(sink, key=order.key(), value=invoice, on_delivery=delivered)
        if not orders:
            continue
        if producer.flush(30):
            sys.exit("the brokers did not answer for all invoices within 30 s")
        if mended and failed:
            raise KafkaException(failed[0])
        time.sleep(0.05)  # work
        consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
except KafkaException as error:
    sys.exit(str(error))
finally:
    consumer.close()
