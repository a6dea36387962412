"""The producer of kafka-python behind our protocol."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from workloads.clients.connection import Address
from workloads.clients.epochs import Epochs
from workloads.clients.kafka_python import attempts
from workloads.clients.kafka_python.settings import COMMON, access
from workloads.clients.outcome import NEVER_SENT, Acks, Outcome, acknowledged, refused
from workloads.clients.protocol import Completion, Log
from workloads.keys import Keyed, to_wire

PRODUCER: dict[str, Any] = {
    # A batch that expires wedges the idempotent producer for ever. So batches do not expire while a workload lasts;
    # a role that has waited long enough closes the producer, which ends them.
    "delivery_timeout_ms": 3_600_000,
    "max_block_ms": 3000,
}

STALL = 30.0
"""Seconds without a completion after which a producer with sends under way counts as wedged."""

FAILED_ROUNDS = 10
"""Rounds of its network thread that fail in succession, after which a producer counts as wedged. It has some five
in a second then."""

SET_BY_US = (
    "acks",
    "bootstrap_servers",
    "client_id",
    "enable_idempotence",
    "security_protocol",
    "transactional_id",
)
SET_BY_US_PREFIXES = ("sasl_", "ssl_")
"""Settings that follow from the workload and the cluster, by name and by how the name begins."""


def check_setting(name: str) -> None:
    """Raises ValueError saying why a user cannot set it."""
    if name in SET_BY_US or name.startswith(SET_BY_US_PREFIXES):
        raise ValueError("kafkacheck sets this itself")
    if name not in KafkaProducer.DEFAULT_CONFIG:
        raise ValueError("KafkaProducer has no setting of that name")


def close_producer(producer: Any, timeout: float) -> None:
    """End a KafkaProducer with its network thread, also where sends stay without an answer for `timeout` seconds."""
    try:
        producer.close(timeout=timeout)
    except KafkaError:
        # flush() timed out, and nothing is stopped yet.
        producer._sender.force_close()
    producer._sender.join(5)


class KafkaPythonProducer:
    """Implements `protocol.Producer`. The constructor raises KafkaError when no broker answers in time.

    config  settings of KafkaProducer, which take precedence over ours.
    """

    def __init__(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        acks: Acks,
        idempotence: bool,
        config: Mapping[str, Any],
    ) -> None:
        attempts.install()
        self._acks = acks
        self._done: queue.SimpleQueue[list[Completion]] = queue.SimpleQueue()
        self._pending: dict[int, Log] = {}
        self._filling: dict[Log, Batch] = {}
        self._under_way: dict[Batch, None] = {}
        self._waiting = 0
        self._progress = time.monotonic_ns()
        self._producer: Any = KafkaProducer(
            **{
                **COMMON,
                **PRODUCER,
                **access(bootstrap),
                "acks": acks,
                "enable_idempotence": idempotence,
                **config,
            }
        )
        self._rounds = SenderRounds(self._producer._sender)
        self._epochs = Epochs(self._producer._metadata, topics)

    @property
    def library_producer(self) -> Any:
        """The KafkaProducer."""
        return self._producer

    @property
    def in_flight(self) -> int:
        return self._waiting

    def send(self, op: int, log: Log, payload: bytes, keyed: Keyed | None = None) -> None:
        if not self._pending:
            self._progress = time.monotonic_ns()
        self._pending[op] = log
        self._waiting += 1
        key, value, headers = to_wire(payload, keyed)
        try:
            future = self._producer.send(log[0], value=value, key=key, headers=headers, partition=log[1])
        except (KafkaError, ValueError, TypeError) as error:
            # Documented to be raised before the record enters the buffer.
            self._end(op, refused(error, NEVER_SENT))
        except Exception as error:
            self._end(op, refused(error, None))
        else:
            if future.failed() and not isinstance(future.exception, attempts.SendFailed):
                # It failed before it was in a batch: there was no metadata of the topic.
                self._end(op, refused(future.exception, NEVER_SENT))
            else:
                self._follow(op, log, future)

    def take(self, timeout: float) -> list[Completion]:
        for batch in [each for each in list(self._under_way) if each.is_split]:
            del self._under_way[batch]
            for op, future in zip(batch.ops, batch.futures, strict=True):
                ended = partial(self._record_ended, op)
                future.add_callback(ended).add_errback(ended)
        taken: list[Completion] = []
        try:
            taken += self._done.get(timeout=timeout) if timeout > 0 else self._done.get_nowait()
            while True:
                taken += self._done.get_nowait()
        except queue.Empty:
            pass
        self._waiting -= len(taken)
        return taken

    def problem(self) -> str | None:
        manager = self._producer._transaction_manager
        if not self._producer._sender.is_alive():
            return "its network thread has ended"
        if self._rounds.failures >= FAILED_ROUNDS:
            return f"wedged: its network thread fails in each round: {self._rounds.last!r}"
        if manager is not None and manager.has_fatal_error():
            return f"poisoned by {type(manager.last_error).__name__}"
        if manager is not None and manager._current_state.name == "READY" and not manager.has_producer_id():
            return "wedged: ready, but without a producer id"
        if self._pending and time.monotonic_ns() - self._progress > STALL * 1e9:
            return f"nothing completed for {STALL:.0f} s"
        return None

    def leader_epoch(self, log: Log) -> int:
        return self._epochs.highest(log)

    def close(self, timeout: float) -> list[Completion]:
        # In a thread, because the library's close() may hang.
        closing = threading.Thread(target=close_producer, args=(self._producer, timeout), daemon=True)
        closing.start()
        closing.join(timeout + 5)
        for op in list(self._pending):
            self._end(op, refused(TimeoutError("not completed when the producer was closed"), None))
        return self.take(0)

    def _follow(self, op: int, log: Log, future: Any) -> None:
        """See to it that the send is completed, with the rest of its batch."""
        batch = self._filling.get(log)
        if batch is None or batch.produced is not future._produce_future:
            batch = self._filling[log] = Batch(future._produce_future)
            self._under_way[batch] = None
            batch.add(op, future)
            ended = partial(self._batch_ended, batch)
            batch.produced._add_cb_eb(ended, ended)
        else:
            batch.add(op, future)
            if batch.produced.is_done:  # it may have ended just before
                self._batch_ended(batch, batch.produced.value)

    # The following methods also run on the network thread.

    def _batch_ended(self, batch: Batch, result: Any) -> None:
        """result: the offset of the first record, a time, and what gives the exception of each record or None."""
        first, _, exception_of = result
        at, acks, pending = time.monotonic_ns(), self._acks, self._pending
        self._under_way.pop(batch, None)
        if exception_of is None:
            self._epochs.highest(tuple(batch.produced.topic_partition))
        ended = []
        for number, op in enumerate(list(batch.ops)):
            # Without it, the send was given up before and already has a completion.
            if pending.pop(op, None) is not None:
                outcome = (
                    _failed(exception_of(number))
                    if exception_of is not None
                    else acknowledged(acks, first + number if first >= 0 else None)
                )
                ended.append(Completion(op, at, outcome))
        if ended:
            self._progress = at
            self._done.put(ended)

    def _record_ended(self, op: int, result: Any) -> None:
        """result: the library's RecordMetadata, or an exception."""
        is_acknowledged = not isinstance(result, BaseException)
        self._end(op, acknowledged(self._acks, result.offset) if is_acknowledged else _failed(result))

    def _end(self, op: int, outcome: Outcome) -> None:
        at = time.monotonic_ns()
        if self._pending.pop(op, None) is not None:
            self._progress = at
            self._done.put([Completion(op, at, outcome)])


def _failed(error: BaseException) -> Outcome:
    if isinstance(error, attempts.SendFailed):
        return refused(error.error, error.attempts)
    return refused(error, None)


class Batch:
    """The sends of one batch of the library, which end together: a callback for each record would take a tenth of the
    time that the library needs for the record.

    produced  its future of the batch, which all of its records share.
    """

    __slots__ = ("futures", "ops", "produced")

    def __init__(self, produced: Any) -> None:
        self.produced = produced
        self.ops: list[int] = []
        """In the order of the records."""
        self.futures: list[Any] = []
        """The library's, of each record."""

    def add(self, op: int, future: Any) -> None:
        self.futures.append(future)
        self.ops.append(op)

    @property
    def is_split(self) -> bool:
        """Whether the library has made smaller ones of it, because a broker found it too large. Then it never ends,
        and its records do, each with one of those."""
        return self.produced._latch.is_set() and not self.produced.is_done


class SenderRounds:
    """Counts how often the network thread of a KafkaProducer has failed in succession.

    The thread catches whatever a round raises, logs it, and begins the next round. Where each round raises the same,
    it sends nothing more to any broker, no send ends, and the library reports nothing. This was seen with
    kafka-python 3.0.12 after a broker had been restarted.

    failures  rounds in succession, up to the last one, that raised something.
    last      what the last of them raised.
    """

    def __init__(self, sender: Any) -> None:
        self.failures = 0
        self.last: Exception | None = None
        self._round = sender.run_once
        sender.run_once = self._counted

    def _counted(self) -> None:
        try:
            self._round()
        except Exception as error:
            self.failures += 1
            self.last = error
            raise
        self.failures = 0
