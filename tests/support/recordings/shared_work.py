"""Members of a consumer group that commit their offsets in transactions, and do not say who they are.

With the whole `ConsumerGroupMetadata` a broker refuses the commit of a member that its group has replaced. With the
bare name of the group, the form of Kafka before KIP-447, it cannot tell.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from pytest_kafkacheck import PROBE, Topic, WorkerContext, WorkerRole, WorkerSpec, Workload
from workloads.clients.kafka_python.settings import COMMON, access
from workloads.clients.protocol import Polled, PolledRecords

WORK = 0.8
"""Seconds that a member works on what it has polled, before it commits."""


@dataclass(frozen=True)
class SharedWork(Workload):
    """A producer, and two members of one group: each works on one of two partitions."""

    rate: float = 20

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (
            Topic(
                name=f"work-{run}", partitions=2, replication_factor=3, config={"min.insync.replicas": "2"}
            ),
        )

    def workers(self) -> tuple[WorkerSpec, ...]:
        sending = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}, "rate": self.rate}
        producer = WorkerRole("producer", "workloads.roles.producer:produce")
        return (
            WorkerSpec(role=producer, process=0, options=sending),
            WorkerSpec(role=MEMBER, process=1),
            WorkerSpec(role=MEMBER, process=2),
            WorkerSpec(role=PROBE, process=3),
        )

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return (("producer",), (MEMBER.name,))

    @property
    def has_groups(self) -> bool:
        return True


def work(context: WorkerContext) -> None:
    """Poll, work, commit, until `context.stop` is set."""
    member = _Member(context)
    context.ready()
    while not context.stop.is_set():
        try:
            member.round()
        except KafkaError:
            context.counts["refused"] += 1
    member.close()


class _Member(ConsumerRebalanceListener):
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._records, self._operations = context.records(), context.writer("operations")
        self._group = f"workers-{context.run}"
        self._assignment = 0
        self._generation: int | None = None
        self._new: dict[Any, int] = {}
        """Partitions whose assignment is not recorded yet, and when they were assigned (ns)."""
        self._consumer = KafkaConsumer(
            **{**COMMON, **access(context.bootstrap), "group_id": self._group, "session_timeout_ms": 2000,
               "heartbeat_interval_ms": 500, "auto_offset_reset": "earliest", "enable_auto_commit": False,
               "max_poll_records": 20},
        )  # fmt: skip
        self._consumer.subscribe(list(context.topics), listener=self)
        self._producer: KafkaProducer | None = None

    def round(self) -> None:
        invoked = time.monotonic_ns()
        polled = self._consumer.poll(timeout_ms=200)
        self._record_assignments(polled)
        if not polled:
            return
        rows = [
            Polled((log.topic, log.partition), each.offset, each.leader_epoch, each.value)
            for log, of_log in polled.items() for each in of_log
        ]  # fmt: skip
        self._polled(rows, invoked)
        generation = self._generation
        time.sleep(WORK)
        self._commit({log: of_log[-1].offset + 1 for log, of_log in polled.items()}, generation)

    def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        self._assignment += 1
        self._generation = self._consumer.group_metadata().generation_id
        # Positions cannot be requested in here: the library is in the middle of a rebalance.
        self._new = dict.fromkeys(assigned, time.monotonic_ns())

    def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        self._event("revoked", dict.fromkeys(revoked, time.monotonic_ns()))

    def on_partitions_lost(self, lost: Collection[Any]) -> None:
        self._event("lost", dict.fromkeys(lost, time.monotonic_ns()))

    def close(self) -> None:
        self._consumer.close(autocommit=False)
        self._drop_producer()

    def _record_assignments(self, polled: dict[Any, list[Any]]) -> None:
        """New partitions begin at their first record of the poll, or at the position of one without records."""
        starts = {log: records[0].offset for log, records in polled.items()}
        for log in self._new:
            starts.setdefault(log, self._consumer.position(log))
        self._event("assigned", self._new, starts)
        self._new = {}

    def _polled(self, rows: list[Polled], invoked: int) -> None:
        context, writer, now = self._context, self._context.writer("records"), time.monotonic_ns()
        self._records.polled(
            context.op(), PolledRecords.of(rows), invoked=invoked, completed=now, assignment=self._assignment,
            generation=self._generation,
        )  # fmt: skip
        writer.flush()
        context.counts["polled"] += len(rows)

    def _commit(self, positions: dict[TopicPartition, int], generation: int | None) -> None:
        context = self._context
        op, invoked = context.op(), time.monotonic_ns()
        commits = context.commits(group=self._group, member=self._name())
        begun = commits.begin(
            op, {(log.topic, log.partition): offset for log, offset in positions.items()},
            generation=generation, transaction=op,
        )  # fmt: skip
        ending, problem = None, None
        try:
            producer = self._connected()
            producer.begin_transaction()
            offsets = {log: OffsetAndMetadata(offset, "", -1) for log, offset in positions.items()}
            producer.send_offsets_to_transaction(offsets, self._group)
            ending = time.monotonic_ns()
            producer.commit_transaction()
        except KafkaError as error:
            problem = type(error).__name__
            self._drop_producer()
        kind: Any = "info" if problem else "ok"
        now = time.monotonic_ns()
        commits.complete(begun, kind, completed=now, error=problem)
        value = {
            "transactional_id": f"{self._group}-{context.process}", "epoch": 0, "outcome": "commit", "ending": ending,
        }  # fmt: skip
        self._operations.append(
            run=context.run, op=op, process=context.process, f="txn", type=kind, invoked=invoked, completed=now,
            value=json.dumps(value), error=problem,
        )  # fmt: skip
        context.counts["commits"] += 1

    def _connected(self) -> KafkaProducer:
        if self._producer is None:
            context = self._context
            self._producer = KafkaProducer(
                **{**COMMON, **access(context.bootstrap), "acks": "all",
                   "transactional_id": f"{self._group}-{context.process}"},
            )  # fmt: skip
            self._producer.init_transactions()
        return self._producer

    def _drop_producer(self) -> None:
        # It fails where a transaction is left, whose outcome is recorded as unknown.
        if self._producer is not None:
            with suppress(KafkaError):
                self._producer.close(timeout=2)
        self._producer = None

    def _event(self, event: str, logs: Mapping[Any, int], starts: Mapping[Any, int] | None = None) -> None:
        """logs: with the time of the event, ns."""
        for log, at in logs.items():
            value = {"event": event, "member": self._name()}
            if event == "assigned":
                value["auto_offset_reset"] = "earliest"
            self._operations.append(
                run=self._context.run, op=self._context.op(), process=self._context.process, f="member", type="ok",
                invoked=at, completed=at, topic=log.topic, partition=log.partition,
                start_offset=(starts or {}).get(log), value=json.dumps(value), group=self._group,
                generation=self._generation,
            )  # fmt: skip

    def _name(self) -> str:
        return str(self._consumer.group_metadata().member_id)


MEMBER = WorkerRole("member", work)
