"""Sending with the history written ahead, and with a new producer when the old one is of no more use."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kafka.errors import KafkaConfigurationError, KafkaError
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_when_event_set,
    wait_fixed,
)

from workloads.clients.kafka_python import KafkaPythonProducer
from workloads.clients.protocol import Completion, Log, Producer
from workloads.payload import encode
from workloads.recording import Records, Sent
from workloads.roles.context import WorkerContext

CLOSE_TIMEOUT = 2.0


class Sending:
    """The sends of one process. Before a record is handed to the client, its invocation is on disk."""

    def __init__(self, job: WorkerContext, records: Records) -> None:
        self._job = job
        self._records = records
        self._open: dict[int, Sent] = {}
        self._producer: Producer | None = None

    @property
    def in_flight(self) -> int:
        return len(self._open)

    def connect(self) -> bool:
        """Have a producer; tries until one is there. False when the job is to stop before."""
        options = self._job.options
        retrying = Retrying(
            stop=stop_when_event_set(self._job.stop),
            wait=wait_fixed(0.2),
            sleep=sleep_using_event(self._job.stop),
            retry=retry_if_exception(_worth_another_try),
        )
        try:
            self._producer = retrying(
                KafkaPythonProducer,
                bootstrap=self._job.bootstrap,
                topics=tuple(self._job.topics),
                acks=options["acks"],
                idempotence=options["idempotence"],
                config=options["client"],
            )
        except RetryError:
            return False
        return True

    def send(self, logs: Sequence[Log]) -> None:
        """Send a new value to each of the logs."""
        if self._producer is None and not self.connect():
            return
        assert self._producer is not None
        job = self._job
        now = time.monotonic_ns()
        chunk = [self._records.invoke(job.op(), log, now) for log in logs]
        self._records.flush()
        for sent in chunk:
            payload = encode(job.run, *sent.log, sent.op, size=job.options["record_size"])
            self._open[sent.op] = sent._replace(invoked=time.monotonic_ns())
            self._producer.send(sent.op, sent.log, payload)
        job.counts["sends"] += len(chunk)

    def collect(self, timeout: float) -> list[Completion]:
        """Record what has completed; waits up to `timeout` seconds for the first. Drops a broken producer."""
        if self._producer is None:
            return []
        completions = self._producer.take(timeout)
        self._record(completions)
        if self._producer.problem() is not None:
            completions += self.drop()
        return completions

    def drop(self) -> list[Completion]:
        """End the producer, whatever its sends have come to. The next send makes another."""
        if self._producer is None:
            return []
        producer, self._producer = self._producer, None
        completions = producer.close(0 if self._job.gone.is_set() else CLOSE_TIMEOUT)
        self._record(completions)
        self._job.counts["producers dropped"] += 1
        return completions

    def leader_epoch(self, log: Log) -> int:
        return -1 if self._producer is None else self._producer.leader_epoch(log)

    def finish(self, limit: float) -> None:
        """Wait up to `limit` seconds for the sends under way, then end the producer."""
        deadline = time.monotonic() + limit
        while self._open and not self._job.gone.is_set() and time.monotonic() < deadline:
            self.collect(0.1)
        if self._producer is not None:
            self._record(self._producer.close(0 if self._job.gone.is_set() else CLOSE_TIMEOUT))
            self._producer = None

    def _record(self, completions: Sequence[Completion]) -> None:
        for completion in completions:
            self._records.complete(self._open.pop(completion.op), completion)
            self._job.counts["acks" if completion.outcome.type == "ok" else completion.outcome.type] += 1


def _worth_another_try(error: BaseException) -> bool:
    return isinstance(error, (KafkaError, OSError)) and not isinstance(error, KafkaConfigurationError)
