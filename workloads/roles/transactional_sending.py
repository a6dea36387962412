"""Sending in transactions: the producer that has a transactional id, and what is recorded of its transactions."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any, Literal

from workloads.clients.outcome import Outcome, Type
from workloads.clients.protocol import Completion, Ending, TransactionalProducer
from workloads.load import drawn_sizes
from workloads.payload import encode
from workloads.recording import Records, Sends
from workloads.roles.context import WorkerContext
from workloads.roles.sending import retried

SEND_LIMIT = 10.0
"""Seconds for the sends of a transaction to be acknowledged, before its producer is given up."""

END_LIMIT = 10.0
"""Seconds for the acknowledgement of a commit or an abort."""

CLOSE_LIMIT = 2.0

BeforeEnd = Callable[[TransactionalProducer], Ending]
"""Runs when the sends of a transaction have ended, before its outcome is requested. Without ``ok``, the client gives
the transaction up."""


class TransactionalSending:
    """The transactions of one process. A producer that fails is dropped; `connect` makes another, which claims the id
    again and so aborts what the earlier one left open.

    Options of the worker: timeout (s, of the coordinator); record_size (see `workloads.load.Sizes`); client (settings
    of the library's producer).
    """

    def __init__(self, context: WorkerContext, records: Records, transactional_id: str) -> None:
        self._context = context
        self._records = records
        self._id = transactional_id
        self._epoch = -1
        self._producer: TransactionalProducer | None = None
        self._sizes = drawn_sizes(
            context.options["record_size"], random.Random(f"{context.run}/{context.process}/sizes")
        )

    @property
    def is_connected(self) -> bool:
        return self._producer is not None

    def connect(self) -> bool:
        """Claim the transactional id, with retries. False when the worker is stopped before."""
        self._producer = retried(self._context, self._claim)
        return self._producer is not None

    def transact(
        self,
        op: int,
        sends: Sends,
        *,
        invoked: int,
        outcome: Literal["commit", "abort"] = "commit",
        before_end: BeforeEnd | None = None,
    ) -> Ending:
        """One transaction, `op`, with sends whose invocations are on disk. Returns how it ended: ``ok`` if it was
        committed, ``fail`` if nothing of it is ever visible. It has to be connected.

        invoked  when it began, in ns.
        """
        context, producer = self._context, self._producer
        assert producer is not None
        try:
            producer.begin()
        except OSError as error:
            refused = Outcome("fail", None, str(error))
            ends = {op: Completion(op, time.monotonic_ns(), refused) for op in sends.ops}
            ended = Ending("fail", type(error).__name__)
            type_ = self._record(op, invoked, sends, ends, "commit", None, ended)
            self._drop()
            return Ending(type_, ended.error)
        amounts = sends.amounts or repeat(None)
        for (op_of_send, log, source, _), amount, size in zip(sends, amounts, self._sizes, strict=False):
            payload = encode(context.run, *log, op_of_send, size=size, source=source, amount=amount)
            producer.send(op_of_send, log, payload)
        context.counts["sends"] += len(sends)
        ends = self._collect(producer, sends)
        if len(ends) == len(sends) and any(end.outcome.type != "ok" for end in ends.values()):
            outcome = "abort"
        ready = Ending("ok")
        if before_end is not None and len(ends) == len(sends) and outcome == "commit":
            ready = before_end(producer)
        if len(ends) < len(sends) or ready.type != "ok" or producer.problem() is not None:
            # Nobody requests an end, so the coordinator aborts the transaction.
            ends |= {each.op: each for each in self._drop()}
            ended = Ending("fail", ready.error or "given up before its end")
            return Ending(self._record(op, invoked, sends, ends, outcome, None, ended), ended.error)
        ending = time.monotonic_ns()
        ended = producer.end(outcome, END_LIMIT)
        type_ = self._record(op, invoked, sends, ends, outcome, ending, ended)
        if ended.type != "ok":
            self._drop()
        return Ending(type_, ended.error)

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
            self._record_claim(op, invoked, error=type(error).__name__)
            raise
        self._record_claim(op, invoked, producer=producer)
        return producer

    def _record_claim(
        self,
        op: int,
        invoked: int,
        *,
        producer: TransactionalProducer | None = None,
        error: str | None = None,
    ) -> None:
        """The id was claimed, or the claim ended with `error` and it is unknown whether it took effect."""
        epoch, producer_id = (None, None) if producer is None else (producer.epoch, producer.producer_id)
        self._epoch = -1 if epoch is None else epoch
        known = {"transactional_id": self._id, "epoch": epoch, "producer_id": producer_id}
        value = {name: each for name, each in known.items() if each is not None}
        self._row("init", op, "ok" if error is None else "info", invoked, time.monotonic_ns(), value, error)
        self._context.writer("operations").flush()

    def _collect(self, producer: TransactionalProducer, sends: Sends) -> dict[int, Completion]:
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
        sends: Sends,
        ends: Mapping[int, Completion],
        outcome: Literal["commit", "abort"],
        ending: int | None,
        ended: Ending,
    ) -> Type:
        """The sends complete with the transaction; returns how. ending: when its outcome was requested, ns; None if
        the client gave up before. A commit that was never requested cannot have
        happened."""
        now = time.monotonic_ns()
        is_aborted = outcome == "abort" or ending is None or ended.type == "fail"
        type: Type = "fail" if is_aborted else ended.type
        outcomes = {op: ends[op].outcome for op in sends.ops}
        self._records.complete([
            (sends, Completion(op, now, Outcome(type, was.offset, was.error or ended.error)))
            for op, was in outcomes.items()
        ])  # fmt: skip
        self._context.counts["acks" if type == "ok" else type] += len(sends)
        kind: Type = "ok" if ended.type == "ok" else "fail" if is_aborted else "info"
        value = {"transactional_id": self._id, "epoch": self._epoch, "outcome": outcome, "ending": ending}
        self._row("txn", op, kind, invoked, now, value, ended.error)
        self._context.counts["aborted" if is_aborted else "committed" if kind == "ok" else "undecided"] += 1
        return type

    def _row(
        self,
        f: str,
        op: int,
        type: Type,
        invoked: int,
        completed: int,
        value: Mapping[str, Any],
        error: str | None,
    ) -> None:
        self._context.writer("operations").append(
            run=self._context.run, process=self._context.process, op=op, f=f, type=type, invoked=invoked,
            completed=completed, value=json.dumps(value), error=error,
        )  # fmt: skip

    def _drop(self) -> list[Completion]:
        """Close the producer. Returns a completion for each of its sends that had none."""
        producer, self._producer = self._producer, None
        assert producer is not None
        completions = producer.close(0 if self._context.gone.is_set() else CLOSE_LIMIT)
        self._context.counts["producers dropped"] += 1
        return completions
