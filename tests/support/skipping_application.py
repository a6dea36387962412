"""A member of a group of KIP-848 that skips each tenth input. A file that tests run.

Usage: skipping_application.py BOOTSTRAP SOURCE SINK GROUP CLIENT
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

from confluent_kafka import Consumer, Producer

bootstrap, source, sink, group, client = sys.argv[1:]
running = True


def stop(_: int, __: FrameType | None) -> None:
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(
    {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": "consumer",
        "client.id": client,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
)
producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
consumer.subscribe([source])
done = 0
while running:
    message = consumer.poll(0.2)
    if message is None or message.error():
        continue
    done += 1
    if done % 10:
        producer.produce(sink, key=message.key(), value=message.value())
    producer.flush(10)
    consumer.commit(message=message, asynchronous=False)
consumer.close()
