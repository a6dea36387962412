"""The producers of a client process behind our protocol: the plain one, and the transactional one."""

from __future__ import annotations

import queue
import struct
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from workloads.clients.command import messages, settings
from workloads.clients.command.messages import Done, Error, Opened, Refusal, Sent
from workloads.clients.command.process import ClientProcess, Release
from workloads.clients.connection import Address
from workloads.clients.epochs import AskedEpochs
from workloads.clients.outcome import Acks, Outcome, acknowledged
from workloads.clients.protocol import OUTSIDE, Completion, DelegatingProducer, Ending, Log
from workloads.keys import Keyed

AT_ONCE = 64
"""Records of one line."""

STALL = 30.0
"""Seconds without a completion after which a producer with sends under way is replaced."""

CLAIM_LIMIT = 6.0
"""Seconds to claim an id: metadata, coordinator, and the end of what the id's last owner left open."""


REFUSED = frozenset(
    {
        "NOT_ENOUGH_REPLICAS", "LEADER_NOT_AVAILABLE", "THROTTLING_QUOTA_EXCEEDED",
        "MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "CORRUPT_MESSAGE",
        "INVALID_TIMESTAMP", "INVALID_REQUIRED_ACKS", "INVALID_TOPIC_EXCEPTION", "POLICY_VIOLATION",
        "UNSUPPORTED_VERSION", "UNSUPPORTED_FOR_MESSAGE_FORMAT", "UNSUPPORTED_COMPRESSION_TYPE",
        "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
        "OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH",
        "PRODUCER_FENCED", "INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING", "TRANSACTION_ABORTABLE",
    }
)  # fmt: skip
"""With which a broker refuses a batch before it appends it: `workloads.clients.outcome` in Kafka's own names."""


def of_completion(*, acks: Acks, offset: int | None, error: Error | None) -> Outcome:
    """The outcome of a send from what a client says about it: Kafka's name of the error and, where it knows them,
    whether the record was sent at all, and in how many requests.

    Only with these an error proves that nothing was written: that of a last attempt says nothing about the ones
    before. A name that is not listed promises nothing.
    """
    if error is None:
        return acknowledged(acks, offset)
    never_sent = error.sent is False
    refused = error.attempts == 1 and error.name in REFUSED
    return Outcome("fail" if never_sent or refused else "info", None, error.name)


class CommandProducer:
    """Implements `protocol.Producer`. For one thread. Raises Refusal where the client cannot open it.

    release  takes the process when the producer is closed.
    config   in Kafka's names.
    role     "producer" or "transactional".
    """

    def __init__(
        self,
        process: ClientProcess,
        release: Release,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        acks: Acks,
        config: Mapping[str, str],
        role: str = "producer",
        limit: float = 3.0,
    ) -> None:
        self._process, self._release = process, release
        self._acks = acks
        self._ops: dict[int, int] = {}
        """Number in the protocol to operation: operations have 64 bits, which not every JSON parser keeps."""
        self._numbers = 0
        self._waiting: list[Sent] = []
        self._refused: list[Completion] = []
        self._arrived: queue.SimpleQueue[tuple[list[Done], int]] = queue.SimpleQueue()
        self._progress = time.monotonic()
        self._has_new_acks = True
        self._epochs = AskedEpochs(tuple(bootstrap), topics)
        process.listen(lambda done, at: self._arrived.put((done, at)))
        self.opened = process.call(
            "open", Opened, role=role, config=dict(config), topics=list(topics), limit=limit
        )

    @property
    def in_flight(self) -> int:
        return len(self._ops) + len(self._refused)

    def send(self, op: int, log: Log, payload: bytes, keyed: Keyed | None = None) -> None:
        if not self._ops:
            self._progress = time.monotonic()
        self._numbers += 1
        try:
            self._waiting.append(messages.record(self._numbers, log, payload, keyed))
        except struct.error as error:
            # It never reached the client.
            refused = Outcome("fail", None, type(error).__name__)
            self._refused.append(Completion(op, time.monotonic_ns(), refused))
            return
        self._ops[self._numbers] = op
        if len(self._waiting) >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Hand what was sent to the client."""
        records, self._waiting = self._waiting, []
        if records:
            self._process.tell("send", records=records)

    def take(self, timeout: float) -> list[Completion]:
        self.flush()
        taken, self._refused = self._refused, []
        deadline = time.monotonic() + timeout
        while True:
            left = 0.0 if taken else max(deadline - time.monotonic(), 0.0)
            try:
                arrived = self._arrived.get(timeout=left) if left else self._arrived.get_nowait()
            except queue.Empty:
                if not left:
                    break
                continue
            taken += self._completions(*arrived)
        if not taken:
            self._process.check()
        return taken

    def problem(self) -> str | None:
        if self._ops and time.monotonic() - self._progress > STALL:
            return f"nothing completed for {STALL:.0f} s"
        return None

    def leader_epoch(self, log: Log) -> int:
        """-1 while some broker does not answer: it may be the one that acknowledged the last send."""
        if self._has_new_acks:
            self._has_new_acks = not self._epochs.refresh()
        return -1 if self._has_new_acks else self._epochs.highest(log)

    def close(self, timeout: float) -> list[Completion]:
        """The client completes all records before it answers."""
        self.flush()
        self._epochs.close()
        try:
            self._process.call("close", timeout_ms=round(max(timeout, 0) * 1000), limit=max(timeout, 0))
        except Refusal as error:
            # It is of no use any more, and neither is what it may still write.
            raise self._process.fail(f"could not close its producer: {error}") from None
        taken = self.take(0)
        now = time.monotonic_ns()
        unknown = Outcome("info", None, "not completed when the producer was closed")
        taken += (Completion(op, now, unknown) for op in self._ops.values())
        self._ops = {}
        self._process.listen(None)
        self._release(self._process)
        return taken

    def _completions(self, done: list[Done], at: int) -> list[Completion]:
        completions = []
        for each in done:
            op = self._ops.pop(each.number, None)
            if op is None:
                raise self._process.fail(
                    f"completed record {each.number}, which was not sent or is completed already"
                )
            self._has_new_acks = self._has_new_acks or each.error is None
            outcome = of_completion(acks=self._acks, offset=each.offset, error=each.error)
            completions.append(Completion(op, at, outcome))
        if completions:
            self._progress = time.monotonic()
        return completions


class CommandTransactional(DelegatingProducer):
    """Implements `protocol.TransactionalProducer`. Raises Refusal where the client cannot claim the id."""

    def __init__(
        self,
        process: ClientProcess,
        release: Release,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        transactional_id: str,
        timeout: float,
        config: Mapping[str, Any],
    ) -> None:
        bootstrap = tuple(bootstrap)
        self._process = process
        self._sending = CommandProducer(
            process,
            release,
            bootstrap=bootstrap,
            topics=topics,
            acks="all",
            role="transactional",
            limit=CLAIM_LIMIT,
            config={
                **settings.producer(bootstrap, acks="all", idempotence=True, settings=config),
                "transactional.id": transactional_id,
                "transaction.timeout.ms": str(round(timeout * 1000)),
            },
        )
        super().__init__(self._sending)
        self.producer_id, self.epoch = self._sending.opened.producer, self._sending.opened.epoch

    def begin(self) -> None:
        try:
            self._process.call("begin")
        except Refusal as error:
            raise ConnectionError(f"the producer cannot begin a transaction: {error}") from error

    def add_positions(self, positions: Mapping[Log, int], membership: Any, limit: float) -> Ending:
        if membership is None:
            return Ending("fail", OUTSIDE)
        self._sending.flush()
        try:
            self._process.call(
                "add-offsets", offsets=messages.offsets(positions), membership=membership, limit=limit,
                timeout_ms=round(limit * 1000),
            )  # fmt: skip
        except Refusal as error:
            # They count only with the commit, and after anything but ok nobody requests one.
            return Ending("fail", error.name)
        return Ending("ok")

    def end(self, outcome: Literal["commit", "abort"], limit: float) -> Ending:
        self._sending.flush()
        try:
            self._process.call("end", outcome=outcome, limit=limit, timeout_ms=round(limit * 1000))
        except Refusal as refusal:
            return Ending("fail" if outcome == "commit" and refusal.error.aborted else "info", refusal.name)
        return Ending("ok")
