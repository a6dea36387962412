"""As copier.py, in confluent-kafka: at least once and in order.

Usage: copier_confluent.py BOOTSTRAP SOURCE SINK GROUP CLIENT [SECONDS OF WORK PER BATCH]
"""

from __future__ import annotations

import json
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
work = float(rest[0]) if rest else 0.05
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
producer = Producer({"bootstrap.servers": bootstrap, "client.id": client, "enable.idempotence": True})


def delivered(error, _):
    if error is not None:
        raise KafkaException(error)  # from flush


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
            sys.exit("the brokers did not acknowledge all invoices within 30 s")
        time.sleep(work)
        consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
        print(f"{len(orders)} invoices", flush=True)
except KafkaException as error:
    sys.exit(str(error))
finally:
    consumer.close()
