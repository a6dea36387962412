"""A reader remembers when records came, and goes on after an error."""

from __future__ import annotations

import threading

from kafka.errors import KafkaConnectionError

from pytest_kafkacheck.claims.reader import Reader


class Consumer:
    """Answers polls with two records, an error, one record, and then nothing."""

    def __init__(self) -> None:
        self.answers: list[object] = [{"log": ["a", "b"]}, KafkaConnectionError(), {"log": ["c"]}]
        self.is_drained = threading.Event()

    def poll(self, timeout_ms: int) -> object:
        if not self.answers:
            self.is_drained.wait(timeout_ms / 1000)
            self.is_drained.set()
            return {}
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_records_are_counted_although_a_poll_failed() -> None:
    consumer = Consumer()
    reader = Reader(consumer)
    reader.start()
    try:
        assert consumer.is_drained.wait(10)
    finally:
        reader.stop()
    first, second, third = reader.times
    assert first == second <= third
    assert reader.count(first, third) == 3
    assert reader.longest_gap() == third - second
