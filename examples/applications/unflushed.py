"""As copier_confluent.py, with a flaw: it commits its positions while invoices still wait in the producer
(linger.ms). A crash loses them. With `mended` as its last argument, it waits for the brokers' acknowledgements before
it commits.

Usage: unflushed.py BOOTSTRAP SOURCE SINK GROUP CLIENT [mended]
"""

from __future__ import annotations

import json
import signal
import sys

from confluent_kafka import Consumer, KafkaException, Producer

bootstrap, source, sink, group, client, *rest = sys.argv[1:]
mended = rest == ["mended"]
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
    {"bootstrap.servers": bootstrap, "client.id": client, "enable.idempotence": True, "linger.ms": 200}
)
failed = []


def delivered(error, _):
    if error is not None:
        failed.append(error)


try:
    consumer.subscribe([source])
    while running:
        orders = consumer.consume(num_messages=100, timeout=0.2)
        for order in orders:
            if order.error():
                raise KafkaException(order.error())
            invoice = json.dumps({"of": json.loads(order.value())["id"]}).encode()
            producer.produce(sink, key=order.key(), value=invoice, on_delivery=delivered)
        producer.poll(0)
        if mended and orders and producer.flush(30):
            sys.exit("the brokers did not acknowledge all invoices within 30 s")
        if failed:
            raise KafkaException(failed[0])
        if orders:
            consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
except KafkaException as error:
    sys.exit(str(error))
finally:
    producer.flush(5)
    consumer.close()
