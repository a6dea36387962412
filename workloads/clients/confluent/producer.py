"""The producer of confluent-kafka behind our protocol, and the outcome of its sends.

librdkafka knows whether a message was possibly written (``rd_kafka_message_status``), and retries some errors without
counting them, even with ``retries=0``. Its Python binding tells neither. So the error of a delivery report describes
the last attempt only: an earlier one may have been written, and no report proves a failure. An error that produce()
raises does, because the message never entered the queue.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Library

from workloads.clients.confluent.settings import COMMON, CONNECT_TIMEOUT, access
from workloads.clients.connection import Address
from workloads.clients.epochs import AskedEpochs
from workloads.clients.outcome import Acks, Outcome, acknowledged
from workloads.clients.protocol import Completion, Log
from workloads.keys import Keyed, to_wire

STALL = 30.0
"""Seconds without a completion after which a producer with sends under way is replaced."""

PURGE_LIMIT = 0.5
"""Seconds for the reports of messages that are given up; they come at once."""

SET_BY_US = (
    "acks",
    "bootstrap.servers",
    "client.id",
    "enable.idempotence",
    "logger",
    "metadata.broker.list",
    "on_delivery",
    "request.required.acks",
    "security.protocol",
    "transactional.id",
)
SET_BY_US_PREFIXES = ("sasl.", "ssl.", "test.")
CALLBACKS = "_cb"
"""Settings that follow from the workload and the cluster, by name, by how the name begins, and by how it ends."""

UNKNOWN = "kafkacheck.unknown"
"""No setting of librdkafka: makes sure that looking up a name makes no client."""


def check_setting(name: str) -> None:
    """Raises ValueError saying why a user cannot set it."""
    if name in SET_BY_US or name.startswith(SET_BY_US_PREFIXES) or name.endswith(CALLBACKS):
        raise ValueError("kafkacheck sets this itself")
    try:
        Library({name: "", UNKNOWN: ""})
    except (KafkaException, TypeError) as error:
        if f'No such configuration property: "{name}"' in str(error):
            raise ValueError(
                "librdkafka has no setting of that name; its names are as in linger.ms"
            ) from None


class ConfluentProducer:
    """Implements `protocol.Producer`. Raises KafkaException when no broker answers, or for a wrong setting.

    All methods are for one thread: delivery reports are served in `take` and `close`, which callers call often.
    config  settings of librdkafka, which take precedence over ours.
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
        addresses = tuple(bootstrap)
        self._acks = acks
        self._pending: set[int] = set()
        self._done: list[Completion] = []
        self._progress = time.monotonic_ns()
        self._fatal: str | None = None
        self._has_new_acks = True
        self._epochs = AskedEpochs(addresses, topics)
        self._producer = Library(
            {
                **COMMON,
                **access(addresses),
                "acks": str(acks),
                "enable.idempotence": idempotence,
                "error_cb": self._note,
                **config,
            }
        )
        self._producer.list_topics(timeout=CONNECT_TIMEOUT)

    @property
    def in_flight(self) -> int:
        return len(self._pending) + len(self._done)

    def send(self, op: int, log: Log, payload: bytes, keyed: Keyed | None = None) -> None:
        if not self._pending:
            self._progress = time.monotonic_ns()
        self._pending.add(op)
        key, value, headers = to_wire(payload, keyed)
        try:
            self._producer.produce(
                log[0], value=value, key=key, headers=headers, partition=log[1],
                on_delivery=partial(self._report, op),
            )  # fmt: skip
        except Exception as error:
            self._end(op, of_refusal(error))
            if isinstance(error, KafkaException):
                self._note(error.args[0])

    def take(self, timeout: float) -> list[Completion]:
        deadline = time.monotonic() + timeout
        self._serve(self._producer.poll, 0)
        # A poll also returns after an error or a log line.
        while not self._done and (left := deadline - time.monotonic()) > 0:
            self._serve(self._producer.poll, left)
        taken, self._done = self._done, []
        return taken

    @property
    def library(self) -> Library:
        """For transactions, which belong to the same object."""
        return self._producer

    def serve(self, timeout: float) -> None:
        """Run callbacks that are due, of statistics too; waits up to `timeout` seconds for the first."""
        self._serve(self._producer.poll, timeout)

    def problem(self) -> str | None:
        if self._fatal is not None:
            return self._fatal
        if self._pending and time.monotonic_ns() - self._progress > STALL * 1e9:
            return f"nothing completed for {STALL:.0f} s"
        return None

    def leader_epoch(self, log: Log) -> int:
        """-1 while some broker does not answer: it may be the one that acknowledged the last send."""
        if self._has_new_acks:
            self._has_new_acks = not self._epochs.refresh()
        return -1 if self._has_new_acks else self._epochs.highest(log)

    def close(self, timeout: float) -> list[Completion]:
        self._serve(self._producer.flush, max(timeout, 0))
        if self._pending:
            # Waiting for the library's threads has no limit.
            self._producer.purge(blocking=False)
            self._serve(self._producer.flush, PURGE_LIMIT)
        for op in list(self._pending):
            self._end(op, Outcome("info", None, "not completed when the producer was closed"))
        self._epochs.close()
        # In a thread, because the library waits for its own threads when its producer is freed.
        closing = threading.Thread(target=_free, args=([self._producer],), daemon=True)
        del self._producer
        closing.start()
        closing.join(timeout + 1)
        taken, self._done = self._done, []
        return taken

    def _serve(self, function: Callable[[float], int], timeout: float) -> None:
        """Call poll or flush, which run the callbacks. They also raise a fatal error, once."""
        try:
            function(timeout)
        except KafkaException as error:
            self._note(error.args[0])

    def _report(self, op: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._has_new_acks = True
        self._end(op, of_report(acks=self._acks, offset=message.offset(), error=error))
        if error is not None:
            self._note(error)

    def _end(self, op: int, result: Outcome) -> None:
        at = time.monotonic_ns()
        # Without it, the send was given up before and already has a completion.
        if op in self._pending:
            self._pending.discard(op)
            self._progress = at
            self._done.append(Completion(op, at, result))

    def _note(self, error: KafkaError) -> None:
        """After a fatal error the library refuses everything."""
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._fatal = self._fatal or f"fatal error {error.name()}: {error.str()}"


def _free(producers: list[Library]) -> None:
    """Drop the last reference."""
    producers.clear()


NOT_QUEUED: Mapping[int, str] = {
    KafkaError._QUEUE_FULL: "the queue has its maximal number of messages or bytes",
    KafkaError.MSG_SIZE_TOO_LARGE: "larger than message.max.bytes of the client",
    KafkaError._UNKNOWN_PARTITION: "the metadata has the topic and not the partition",
    KafkaError._UNKNOWN_TOPIC: "the metadata does not have the topic",
    KafkaError._FATAL: "a fatal error came before: the producer sends nothing more",
    KafkaError._STATE: "a transactional producer is not in a transaction",
    KafkaError._INVALID_ARG: "an argument has no valid value",
}
"""Codes with which produce() refuses a message, and when."""


def of_refusal(error: BaseException) -> Outcome:
    """Of a message for which produce() raised this error. Unlisted errors promise nothing."""
    if isinstance(error, BufferError):
        return Outcome("fail", None, "_QUEUE_FULL")
    if isinstance(error, KafkaException):
        code, name = _code(error)
        return Outcome("fail" if code in NOT_QUEUED else "info", None, name)
    # Type and value errors of arguments come before librdkafka is called.
    known = isinstance(error, (TypeError, ValueError))
    return Outcome("fail" if known else "info", None, type(error).__name__)


def of_report(*, acks: Acks, offset: int | None, error: KafkaError | None) -> Outcome:
    """Of a message with a delivery report. offset: None or negative where the broker gave none."""
    if error is not None:
        return Outcome("info", None, error.name())
    return acknowledged(acks, offset)


def _code(error: KafkaException) -> tuple[int, str]:
    (cause, *_) = error.args
    return cause.code(), cause.name()
