"""A hanging transaction: a program leaves one open, and readers of committed records get nothing that lies behind it.

Readers with isolation.level=read_committed get records below the last stable offset only, which is the beginning of
the oldest open transaction of the partition. Others go on committing, and none of it can be read, until the
coordinator aborts the open transaction: after the ``transaction.timeout.ms`` that its producer had asked for. A
program that starts again with the same ``transactional.id`` ends it at once; this one does not come back.

Run it: ``pytest examples/test_hanging_transaction.py`` (about a minute).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from pytest_kafkacheck import (
    Ending,
    Experiment,
    TransactionalSending,
    Transactions,
    WorkerContext,
    WorkerRole,
    WorkerSpec,
)


def crash(context: WorkerContext) -> None:
    """Send a record to each partition in one transaction, and request neither its commit nor its abort."""
    records = context.records()
    sending = TransactionalSending(context, records, f"crashing-{context.run}")
    if not sending.connect():
        return
    context.ready()
    op, now = context.op(), time.monotonic_ns()
    sends = records.invoke(context.op(len(context.logs)), context.logs, now, transaction=op)
    records.flush()
    sending.transact(op, sends, invoked=now, before_end=lambda _: Ending("fail", "crashed"))
    context.stop.wait()


CRASHING = WorkerRole("crashing", crash)


@dataclass(frozen=True, kw_only=True)
class OneHangs(Transactions):
    """hanging  seconds after which the coordinator aborts the transaction that is left open."""

    hanging: float = 60

    def workers(self) -> tuple[WorkerSpec, ...]:
        others = super().workers()
        options = {"timeout": self.hanging, "record_size": 0, "client": {}}
        return (*others, WorkerSpec(role=CRASHING, process=len(others), options=options))

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((CRASHING.name,), *super().stop_order)


def experiment(hanging: float) -> Experiment:
    return Experiment(
        workload=OneHangs(hanging=hanging, topic_config={"min.insync.replicas": 2}),
        duration=12,
        expect="unknown" if hanging > 12 else "valid",
    )


@pytest.mark.nightly
def test_committed_records_are_hidden_until_the_transaction_times_out(kafkacheck):
    run = kafkacheck(experiment(hanging=60))
    run.assert_unknown()
    assert run.verdict.not_exercised == ("polls-to-the-end",)
    committed, uncommitted = run.verdict.exercised.readers
    assert committed.behind
    assert committed.polls * 10 < uncommitted.polls


@pytest.mark.nightly
def test_a_short_timeout_ends_it(kafkacheck):
    kafkacheck(experiment(hanging=2)).assert_valid()
