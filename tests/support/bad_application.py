"""An application with one flaw: bad_application.py FLAW BOOTSTRAP SOURCE SINK GROUP. A file that tests run."""

from __future__ import annotations

import sys
import time

from kafka import KafkaConsumer, KafkaProducer

flaw, bootstrap, source, sink, group = sys.argv[1:]
if flaw == "ends at once":
    sys.exit("no licence")

consumer = KafkaConsumer(
    source, bootstrap_servers=bootstrap.split(","), group_id=group, auto_offset_reset="earliest"
)
producer = KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all", enable_idempotence=True)
for done, each in enumerate(consumer, 1):
    if flaw == "stops working" and done > 50:
        time.sleep(600)
    if flaw == "writes elsewhere":
        producer.send(source, value=b"mine")
        time.sleep(0.05)
    elif flaw == "writes garbage":
        producer.send(sink, value=b"\xff\x00{")
    else:
        producer.send(sink, key=each.key, value=each.value)
    if flaw == "writes something else" and done % 50 == 0:
        producer.send(sink, value=b"50 done")
    while flaw == "never quiet" and done > 50:
        producer.send(sink, key=each.key, value=each.value)
        time.sleep(0.01)
