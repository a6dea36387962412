"""Sessions that write with acks=all and read their writes from a replica in their own rack, often a follower."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from pytest_kafkacheck import PROBE, Sending, Topic, WorkerContext, WorkerRole, WorkerSpec, Workload
from workloads.clients.kafka_python.consumer import Fetches
from workloads.clients.kafka_python.settings import COMMON, access
from workloads.clients.protocol import Log, Polled, PolledRecords
from workloads.recording import Reads, Records

LIMIT = 10.0
"""Seconds until a write is given up."""

CONSUMER: dict[str, Any] = {
    **COMMON,
    "group_id": None,
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "fetch_max_wait_ms": 100,
    # The default: how long a consumer stays with the follower that it was sent to.
    "metadata_max_age_ms": 300_000,
}


@dataclass(frozen=True)
class FollowerReads(Workload):
    """rack  of the reading clients; broker 1 leads, the replicas are 1, 2 and 3."""

    rack: str = "b"

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (
            Topic(
                name=f"log-{run}",
                partitions=1,
                replication_factor=3,
                config={"min.insync.replicas": "2"},
                assignment={0: [1, 2, 3]},
            ),
        )

    def workers(self) -> tuple[WorkerSpec, ...]:
        options = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}, "rack": self.rack}
        return (
            WorkerSpec(role=SESSION, process=0, session=0, options=options),
            WorkerSpec(role=PROBE, process=1),
        )


def write_and_read(context: WorkerContext) -> None:
    """Write a value, read until the replica has no more, again and again."""
    records, reads = context.records(), context.reads("read")
    sending = Sending(context, records)
    (log,) = context.logs
    reader = _Reader(context, log, records, reads)
    if sending.connect():
        context.ready()
    while not context.stop.wait(0.1):
        sending.send([log])
        sending.collect(LIMIT)
        reader.read()
    sending.finish(LIMIT)
    reader.close()


class _Reader:
    def __init__(self, context: WorkerContext, log: Log, records: Records, reads: Reads) -> None:
        self._context, self._log, self._records, self._reads = context, log, records, reads
        rack = context.options["rack"]
        self._consumer = KafkaConsumer(**{**CONSUMER, **access(context.bootstrap), "client_rack": rack})
        self._partition = TopicPartition(*log)
        self._consumer.assign([self._partition])
        self._fetches = Fetches(self._consumer._fetcher)
        self._position = 0

    def read(self) -> None:
        """Poll until nothing has come for 0.4 s. Four fetches of 100 ms found nothing more then."""
        op, invoked, start, error = self._context.op(), time.monotonic_ns(), self._position, None
        try:
            while self._poll(op):
                pass
        except KafkaError as problem:
            error = type(problem).__name__
        self._reads.record(
            op, self._log, invoked=invoked, completed=time.monotonic_ns(), start=start, end=self._position,
            error=error,
        )  # fmt: skip

    def close(self) -> None:
        self._consumer.close(autocommit=False)

    def _poll(self, op: int) -> bool:
        invoked = time.monotonic_ns()
        polled = self._consumer.poll(timeout_ms=400).get(self._partition, [])
        if polled:
            fetched = self._fetches.source(self._partition, polled[0].offset)
            rows = [Polled(self._log, each.offset, each.leader_epoch, each.value, fetched) for each in polled]
            now = time.monotonic_ns()
            self._records.polled(op, PolledRecords.of(rows), invoked=invoked, completed=now, assignment=0)
            self._position = polled[-1].offset + 1
        return bool(polled)


SESSION = WorkerRole("session", write_and_read)
