"""Transfers: each transaction writes one record to each of two partitions. An auditor reads them at the end."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from pytest_kafkacheck import PROBE, Topic, WorkerContext, WorkerRole, WorkerSpec, Workload
from workloads.clients.kafka_python.settings import COMMON, access
from workloads.clients.protocol import Polled, PolledRecords
from workloads.payload import encode

LIMIT = 10.0
"""Seconds until a send is given up."""

PACE = 0.1
"""Seconds between transactions."""

QUIET = 3.0
"""Seconds without a record after which the auditor has read everything."""


@dataclass(frozen=True)
class Transfers(Workload):
    """Partition 0 has replicas on brokers 1 and 2, partition 1 on brokers 3 and 1."""

    unclean: bool = True

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (
            Topic(
                name=f"accounts-{run}",
                partitions=2,
                replication_factor=2,
                config={
                    "min.insync.replicas": "1",
                    "unclean.leader.election.enable": str(self.unclean).lower(),
                },
                assignment={0: [1, 2], 1: [3, 1]},
            ),
        )

    def workers(self) -> tuple[WorkerSpec, ...]:
        return (
            WorkerSpec(role=TRANSFER, process=0, options={"acks": "all", "idempotence": True}),
            WorkerSpec(role=AUDITOR, process=1),
            WorkerSpec(role=PROBE, process=2),
        )

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((TRANSFER.name,), (AUDITOR.name,))


def transfer(context: WorkerContext) -> None:
    """One transaction after another until `context.stop` is set."""
    transfers: _Transfers | None = None
    context.ready()
    while not context.stop.wait(PACE):
        try:
            transfers = transfers or _Transfers(context)
        except KafkaError:
            continue
        if not transfers.make():
            transfers.close()
            transfers = None
    if transfers is not None:
        transfers.close()


class _Transfers:
    """The transactions of one producer."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._records, self._operations = context.writer("records"), context.writer("operations")
        self._known = {"run": context.run, "process": context.process}
        self._id = f"transfer-{context.run}"
        self._producer = KafkaProducer(
            **{**COMMON, **access(context.bootstrap), "acks": "all", "transactional_id": self._id,
               "transaction_timeout_ms": 10_000, "max_block_ms": 10_000},
        )  # fmt: skip
        invoked = time.monotonic_ns()
        self._producer.init_transactions()
        manager = self._producer._transaction_manager
        self._epoch = manager.producer_id_and_epoch.epoch
        value = {"producer_id": manager.producer_id_and_epoch.producer_id, **self._named()}
        self._operations.append(
            **self._known, op=context.op(), f="init", type="ok", invoked=invoked, value=json.dumps(value),
            completed=time.monotonic_ns(),
        )  # fmt: skip

    def make(self) -> bool:
        """One transaction. False if the producer cannot be used any more."""
        context = self._context
        op, began, ending, futures = context.op(), time.monotonic_ns(), None, []
        sends = [self._invoke(op, *log) for log in context.logs]
        self._records.flush()
        outcome = "commit"
        try:
            self._producer.begin_transaction()
            for send in sends:
                payload = encode(context.run, send["topic"], send["partition"], send["op"])
                futures.append(self._producer.send(send["topic"], payload, partition=send["partition"]))
            offsets = [each.get(timeout=LIMIT).offset for each in futures]
            ending = time.monotonic_ns()
            self._producer.commit_transaction()
            kind = "ok"
        except KafkaError as error:
            # What was requested last is not known to have happened or not.
            kind, problem = "info", type(error).__name__
            offsets = [each.value.offset if each.succeeded() else None for each in futures]
        else:
            problem = None
        now = time.monotonic_ns()
        offsets += [None] * (len(sends) - len(offsets))
        for send, offset in zip(sends, offsets, strict=True):
            self._records.append(**send, type=kind, completed=now, offset=offset, error=problem)
        value = {"outcome": outcome, "ending": ending, **self._named()}
        self._operations.append(
            **self._known, op=op, f="txn", type=kind, invoked=began, completed=now, value=json.dumps(value),
            error=problem,
        )  # fmt: skip
        context.counts["sends"] += len(sends)
        context.counts["acks"] += len(sends) * (kind == "ok")
        return kind == "ok"

    def close(self) -> None:
        # It fails where sends are left, whose outcome is recorded as unknown.
        with suppress(KafkaError):
            self._producer.close(timeout=2)

    def _named(self) -> dict[str, Any]:
        return {"transactional_id": self._id, "epoch": self._epoch}

    def _invoke(self, transaction: int, topic: str, partition: int) -> dict[str, Any]:
        """The invocation of a send. Returns the columns that its completion has, too."""
        op = self._context.op()
        columns = {
            **self._known, "op": op, "index": op & 0xFFFFFF, "f": "send", "invoked": time.monotonic_ns(),
            "topic": topic, "partition": partition, "value": op, "assignment": 0, "final": False,
            "transaction": transaction,
        }  # fmt: skip
        self._records.append(**columns, type="invoke")
        return columns


def audit(context: WorkerContext) -> None:
    """Once `context.stop` is set, read both partitions from their start with isolation.level=read_committed."""
    context.ready()
    context.stop.wait()
    consumer = KafkaConsumer(
        **{**COMMON, **access(context.bootstrap), "group_id": None, "auto_offset_reset": "earliest",
           "isolation_level": "read_committed", "enable_auto_commit": False},
    )  # fmt: skip
    consumer.assign([TopicPartition(*log) for log in context.logs])
    records, quiet = context.records(), time.monotonic()
    while time.monotonic() - quiet < QUIET and not context.gone.is_set():
        invoked = time.monotonic_ns()
        polled = consumer.poll(timeout_ms=200)
        if polled:
            quiet, now = time.monotonic(), time.monotonic_ns()
            rows = [
                Polled((log.topic, log.partition), each.offset, each.leader_epoch, each.value)
                for log, of_log in polled.items() for each in of_log
            ]  # fmt: skip
            records.polled(
                context.op(),
                PolledRecords.of(rows),
                invoked=invoked,
                completed=now,
                assignment=0,
                committed=True,
            )
            context.counts["polled"] += len(rows)
    consumer.close(autocommit=False)


TRANSFER = WorkerRole("transfer", transfer)
AUDITOR = WorkerRole("auditor", audit)
