"""The patches of kafka-python that record attempts, for one test: they are meant for worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender

from workloads.clients.kafka_python import attempts

PLACES = [
    (Sender, "_dispatch_error"),
    (ProducerBatch, "done"),
    (ProducerBatch, "abort"),
    (RecordAccumulator, "split_and_reenqueue"),
]


@contextmanager
def attempt_patches() -> Iterator[None]:
    """Install them, and take them back at the end. Later tests of this process would get other errors."""
    assert not hasattr(Sender, attempts.HISTORY), "an earlier test left the patches behind"
    originals = [getattr(owner, name) for owner, name in PLACES]
    attempts.install()
    try:
        yield
    finally:
        for (owner, name), original in zip(PLACES, originals, strict=True):
            setattr(owner, name, original)
        delattr(Sender, attempts.HISTORY)
