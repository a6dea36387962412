"""The transactor: one transaction after another, each with records for several logs."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from typing import Literal

from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_when_event_set,
    wait_fixed,
)

from workloads.clients.outcome import Outcome, Type
from workloads.clients.protocol import Completion, Ending, TransactionalProducer
from workloads.payload import encode
from workloads.recording import Sent
from workloads.roles.context import WorkerContext
from workloads.roles.pace import Pace
from workloads.transaction_rows import TransactionRows

SEND_LIMIT = 10.0
"""Seconds for the sends of a transaction to be acknowledged, before its producer is given up."""

END_LIMIT = 10.0
"""Seconds for the acknowledgement of a commit or an abort."""

CLOSE_LIMIT = 2.0

TICK = 0.01
"""Seconds between two looks at whether the next record is due."""

OVERDUE = 1.5
"""How many times its timeout a transaction stays open that the coordinator is meant to abort."""

HANDOVER = 1.0
"""Seconds after which a process whose producer was given up claims a transactional id that it shares with others."""


def transact(context: WorkerContext) -> None:
    """Run transactions until `context.stop` is set.

    Options: id (number of its transactional id); shared (whether other processes use the same id); timeout (s, of the
    coordinator); size (records of a transaction at most); rate (records per second, or None); aborts, stalls
    (shares of the transactions that the client aborts, and that it leaves open for longer than the timeout before it
    requests the commit); record_size (bytes); client (settings of the library's producer).
    """
    transactor = Transactor(context)
    if transactor.connect():
        context.ready()
    rate: float | None = context.options["rate"]
    transactor.pace = Pace(rate, time.monotonic()) if rate is not None else None
    while not context.stop.is_set():
        if transactor.is_due():
            transactor.transact()
        else:
            context.stop.wait(TICK)
    transactor.close()


class Transactor:
    """The transactions of one process. A producer that fails is replaced, which claims the id again."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._id = f"transactor-{context.options['id']}-{context.run}"
        self._records = context.records()
        self._rows = TransactionRows(
            context.writer("operations"),
            run=context.run,
            process=context.process,
            transactional_id=self._id,
        )
        self._choice = random.Random(f"{context.run}/{context.process}")
        self._producer: TransactionalProducer | None = None
        self.pace: Pace | None = None

    def is_due(self) -> bool:
        """Whether the next transaction is due at the given rate."""
        if self.pace is None:
            return True
        due = self.pace.due(time.monotonic())
        self._context.counts["skipped"] = int(self.pace.skipped)
        return due > 0

    def connect(self) -> bool:
        """Claim the transactional id, with retries. False when the worker is stopped before."""
        retrying = Retrying(
            stop=stop_when_event_set(self._context.stop),
            wait=wait_fixed(0.2),
            sleep=sleep_using_event(self._context.stop),
            retry=retry_if_exception_type(OSError),
        )
        try:
            self._producer = retrying(self._claim)
        except RetryError:
            return False
        return True

    def transact(self) -> None:
        """One transaction: sends, their acknowledgements, and its outcome."""
        context, options = self._context, self._context.options
        if self._producer is None and not self.connect():
            return
        producer = self._producer
        assert producer is not None
        outcome: Literal["commit", "abort"] = "abort" if self._chance("aborts") else "commit"
        is_stalled = outcome == "commit" and self._chance("stalls")
        op, invoked = context.op(), time.monotonic_ns()
        sends = self._invoke(op)
        try:
            producer.begin()
        except OSError as error:
            ends = {
                sent.op: Completion(sent.op, time.monotonic_ns(), Outcome("fail", None, str(error)))
                for sent in sends
            }
            self._record(op, invoked, sends, ends, "commit", None, Ending("fail", type(error).__name__))
            self._drop()
            return
        for sent in sends:
            producer.send(
                sent.op, sent.log, encode(context.run, *sent.log, sent.op, size=options["record_size"])
            )
        context.counts["sends"] += len(sends)
        ends = self._collect(producer, sends)
        if is_stalled:
            context.stop.wait(options["timeout"] * OVERDUE)
        if len(ends) < len(sends) or producer.problem() is not None:
            # Nobody requests an end, so the coordinator aborts the transaction.
            ends |= {each.op: each for each in self._drop()}
            self._record(op, invoked, sends, ends, outcome, None, Ending("fail", "given up before its end"))
            return
        if any(end.outcome.type != "ok" for end in ends.values()):
            outcome = "abort"
        ending = time.monotonic_ns()
        ended = producer.end(outcome, END_LIMIT)
        self._record(op, invoked, sends, ends, outcome, ending, ended)
        if ended.type != "ok":
            self._drop()

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close(0 if self._context.gone.is_set() else CLOSE_LIMIT)

    def _claim(self) -> TransactionalProducer:
        context = self._context
        op, invoked = context.op(), time.monotonic_ns()
        try:
            producer = context.transactional(
                self._id,
                timeout=context.options["timeout"],
                settings=context.options["client"],
            )
        except OSError as error:
            self._rows.claimed(op, invoked=invoked, producer_id=None, epoch=None, error=type(error).__name__)
            raise
        self._rows.claimed(op, invoked=invoked, producer_id=producer.producer_id, epoch=producer.epoch)
        return producer

    def _chance(self, option: str) -> bool:
        share: float = self._context.options[option]
        return self._choice.random() < share

    def _invoke(self, transaction: int) -> list[Sent]:
        """Record the invocations of one to `size` sends, on disk before the first one is made."""
        context, now = self._context, time.monotonic_ns()
        count = self._choice.randint(1, context.options["size"])
        due = [None] * count if self.pace is None else self.pace.take(count)
        logs = self._choice.choices(context.logs, k=count)
        sends = [
            self._records.invoke(context.op(), log, now, at, transaction=transaction)
            for log, at in zip(logs, due, strict=True)
        ]
        self._records.flush()
        return sends

    def _collect(self, producer: TransactionalProducer, sends: list[Sent]) -> dict[int, Completion]:
        """The completions that came in time, by operation."""
        ends: dict[int, Completion] = {}
        deadline = time.monotonic() + SEND_LIMIT
        while len(ends) < len(sends) and time.monotonic() < deadline and not self._context.gone.is_set():
            ends |= {each.op: each for each in producer.take(0.1)}
            if producer.problem() is not None:
                break
        return ends

    def _record(
        self,
        op: int,
        invoked: int,
        sends: Iterable[Sent],
        ends: dict[int, Completion],
        outcome: Literal["commit", "abort"],
        ending: int | None,
        ended: Ending,
    ) -> None:
        """The sends complete with the transaction. A commit that was never requested cannot have happened."""
        now = time.monotonic_ns()
        is_aborted = outcome == "abort" or ending is None or ended.type == "fail"
        type: Type = "fail" if is_aborted else ended.type
        for sent in sends:
            was = ends[sent.op].outcome
            self._records.complete(
                sent, Completion(sent.op, now, Outcome(type, was.offset, was.error or ended.error))
            )
            self._context.counts["acks" if type == "ok" else type] += 1
        kind: Type = "ok" if ended.type == "ok" else "fail" if is_aborted else "info"
        self._rows.ended(
            op, kind, invoked=invoked, completed=now, outcome=outcome, ending=ending, error=ended.error
        )
        self._context.counts["aborted" if is_aborted else "committed" if kind == "ok" else "undecided"] += 1

    def _drop(self) -> list[Completion]:
        """Close the producer. Returns a completion for each of its sends that had none."""
        producer, self._producer = self._producer, None
        assert producer is not None
        completions = producer.close(0 if self._context.gone.is_set() else CLOSE_LIMIT)
        self._context.counts["producers dropped"] += 1
        if self._context.options["shared"]:
            self._context.stop.wait(HANDOVER)
        return completions
