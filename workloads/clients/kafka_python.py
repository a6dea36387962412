"""The clients of kafka-python behind our protocols, with what is known to go wrong in them worked around."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError, RetriableError

from workloads.clients.connection import Address
from workloads.clients.epochs import Epochs
from workloads.clients.network_gate import GATE
from workloads.clients.outcome import NEVER_SENT, Acks, Attempts, classify
from workloads.clients.patches import attempts, connecting
from workloads.clients.protocol import Completion, Log, Polled

COMMON: dict[str, Any] = {
    # Short, for clients must learn of a new leader while the test lasts; the defaults are minutes.
    "metadata_max_age_ms": 1000,
    "request_timeout_ms": 3000,
    "reconnect_backoff_max_ms": 1000,
    # All of it may go to one server that hangs: rather try again with another.
    "bootstrap_timeout_ms": 2500,
    "metrics_enabled": False,
    "allow_auto_create_topics": False,
}
PRODUCER: dict[str, Any] = {
    # A batch that expires wedges the idempotent producer for ever. So batches do not expire while a
    # workload lasts; who has waited long enough closes the producer, which ends them.
    "delivery_timeout_ms": 3_600_000,
    "max_block_ms": 3000,
}
CONSUMER: dict[str, Any] = {
    "group_id": None,
    # Any policy would move the position in silence.
    "auto_offset_reset": "none",
    "enable_auto_commit": False,
    "fetch_max_wait_ms": 100,
    "max_poll_records": 2000,
    # Payloads carry a CRC of their own, which is checked; checking both costs three quarters of the speed.
    "check_crcs": False,
}
STALL = 30.0
"""Seconds without a completion after which a producer with sends under way counts as wedged."""

OUT_OF_RANGE_LIMIT = 20
"""Such answers in a row after which a consumer is replaced, in case it asks the wrong broker for ever."""


def access(bootstrap: Iterable[Address]) -> dict[str, Any]:
    """Settings with which KafkaProducer, KafkaConsumer and KafkaAdminClient reach these brokers.

    The library talks to all brokers in one way: raises ValueError when the addresses ask for several.
    """
    addresses = tuple(bootstrap)
    ways = {address.security for address in addresses}
    if len(ways) > 1:
        raise ValueError(f"brokers {', '.join(map(str, addresses))}: expected the same security for all")
    (security,) = ways or {None}
    # Whoever is about to use the library comes this way.
    connecting.install()
    GATE.install()
    return {
        "bootstrap_servers": [str(address) for address in addresses],
        **(security.kafka_python() if security is not None else {}),
    }


class KafkaPythonProducer:
    """A Producer. The constructor raises KafkaError when no broker answers in time.

    config  settings of KafkaProducer that win over those above.
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
        self._done: queue.SimpleQueue[Completion] = queue.SimpleQueue()
        self._pending: dict[int, Log] = {}
        self._waiting = 0
        self._progress = time.monotonic()
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
        self._epochs = Epochs(self._producer._metadata, topics)

    @property
    def in_flight(self) -> int:
        return self._waiting

    def send(self, op: int, log: Log, payload: bytes) -> None:
        if not self._pending:
            self._progress = time.monotonic()
        self._pending[op] = log
        self._waiting += 1
        try:
            future = self._producer.send(log[0], value=payload, partition=log[1])
        except (KafkaError, ValueError, TypeError) as error:
            # Documented to be raised before the record enters the buffer.
            self._end(op, error=error, tried=NEVER_SENT)
        except Exception as error:
            self._end(op, error=error, tried=None)
        else:
            if future.failed() and not isinstance(future.exception, attempts.SendFailed):
                # Failed without ever having been in a batch: the topic's metadata could not be had.
                self._end(op, error=future.exception, tried=NEVER_SENT)
            else:
                future.add_callback(self._succeeded, op)
                future.add_errback(self._failed, op)

    def take(self, timeout: float) -> list[Completion]:
        taken: list[Completion] = []
        try:
            taken.append(self._done.get(timeout=timeout) if timeout > 0 else self._done.get_nowait())
            while True:
                taken.append(self._done.get_nowait())
        except queue.Empty:
            pass
        self._waiting -= len(taken)
        return taken

    def problem(self) -> str | None:
        manager = self._producer._transaction_manager
        if not self._producer._sender.is_alive():
            return "its network thread has ended"
        if manager is not None and manager.has_fatal_error():
            return f"poisoned by {type(manager.last_error).__name__}"
        if manager is not None and manager._current_state.name == "READY" and not manager.has_producer_id():
            return "wedged: ready, but without a producer id"
        if self._pending and time.monotonic() - self._progress > STALL:
            return f"nothing completed for {STALL:.0f} s"
        return None

    def leader_epoch(self, log: Log) -> int:
        return self._epochs.highest(log)

    def close(self, timeout: float) -> list[Completion]:
        # A thread of its own, for close() may hang in ways of its own; the process outlives it in any case.
        closing = threading.Thread(target=self._close, args=(timeout,), daemon=True)
        closing.start()
        closing.join(timeout + 5)
        for op in list(self._pending):
            self._end(op, error=TimeoutError("still under way when the producer was closed"), tried=None)
        return self.take(0)

    def _close(self, timeout: float) -> None:
        try:
            self._producer.close(timeout=timeout)
        except KafkaError:
            # flush() ran into its limit, and nothing was stopped yet.
            self._producer._sender.force_close()
        self._producer._sender.join(5)

    # The rest runs on the network thread, too.

    def _succeeded(self, op: int, metadata: Any) -> None:
        self._end(op, offset=metadata.offset)

    def _failed(self, op: int, error: BaseException) -> None:
        if isinstance(error, attempts.SendFailed):
            self._end(op, error=error.error, tried=error.attempts)
        else:
            self._end(op, error=error, tried=None)

    def _end(
        self,
        op: int,
        *,
        offset: int | None = None,
        error: BaseException | None = None,
        tried: Attempts | None = None,
    ) -> None:
        at = time.monotonic_ns()
        log = self._pending.pop(op, None)
        if log is None:
            # Given up before; its completion is told.
            return
        self._progress = time.monotonic()
        if error is None:
            self._epochs.highest(log)
        outcome = classify(acks=self._acks, offset=offset, error=error, attempts=tried)
        self._done.put(Completion(op, at, outcome))


class KafkaPythonConsumer:
    """A Consumer. It connects, and connects anew, whenever it is polled without a connection."""

    def __init__(
        self, *, bootstrap: Iterable[Address], start: Mapping[Log, int], assignment: int = 0
    ) -> None:
        self._access = access(bootstrap)
        self._positions = dict(start)
        self._assignment = assignment
        self._wanted: frozenset[Log] = frozenset(start)
        self._heard: dict[Log, int] = {}
        self._out_of_range = 0
        self._consumer: Any = None
        self._epochs: Epochs | None = None

    @property
    def assignment(self) -> int:
        return self._assignment

    @property
    def positions(self) -> Mapping[Log, int]:
        return self._positions

    def only(self, logs: tuple[Log, ...]) -> None:
        if unknown := sorted(set(logs) - set(self._positions)):
            raise ValueError(f"logs {unknown} are not assigned; these are: {sorted(self._positions)}")
        self._wanted = frozenset(logs)
        if self._consumer is not None:
            self._pause()

    def poll(self, timeout: float) -> list[Polled]:
        try:
            if self._consumer is None:
                self._connect()
            batches = self._consumer.poll(timeout_ms=int(timeout * 1000))
        except OffsetOutOfRangeError:
            # A broker that does not know yet that it is no leader any more says so of offsets that exist.
            self._out_of_range += 1
            self._consumer._client.cluster.request_update()
            if self._out_of_range >= OUT_OF_RANGE_LIMIT:
                self._discard()
            time.sleep(min(0.05, timeout))
            return []
        except LogTruncationError as error:
            # What was read beyond the divergence is no more; what is there now is to be read.
            for partition, divergence in error.divergent_offsets.items():
                log = (partition.topic, partition.partition)
                if divergence is not None and log in self._positions:
                    self._positions[log] = min(self._positions[log], divergence.offset)
            self._discard()
            return []
        except RetriableError:
            if self._consumer is None:
                time.sleep(min(0.1, timeout))
            return []
        except KafkaError:
            # UnknownBrokerIdError leaves a broker marked as being fetched from for ever.
            self._discard()
            time.sleep(min(0.1, timeout))
            return []
        if batches:
            self._out_of_range = 0
        return [each for partition, records in batches.items() for each in self._accept(partition, records)]

    def leader_epoch(self, log: Log) -> int:
        known = self._epochs.highest(log) if self._epochs is not None else -1
        return max(known, self._heard.get(log, -1))

    def close(self) -> None:
        consumer, self._consumer, self._epochs = self._consumer, None, None
        if consumer is not None:
            # As with producers: its end must not become ours.
            closing = threading.Thread(
                target=consumer.close, kwargs={"autocommit": False, "timeout_ms": 1000}, daemon=True
            )
            closing.start()
            closing.join(5)

    def _accept(self, partition: Any, records: list[Any]) -> list[Polled]:
        log = (partition.topic, partition.partition)
        accepted = [Polled(log, record.offset, record.leader_epoch, record.value) for record in records]
        self._positions[log] = records[-1].offset + 1
        self._heard[log] = max(self._heard.get(log, -1), *(each.leader_epoch for each in accepted))
        return accepted

    def _connect(self) -> None:
        consumer = KafkaConsumer(**{**COMMON, **CONSUMER, **self._access})
        partitions = {log: TopicPartition(*log) for log in self._positions}
        consumer.assign(list(partitions.values()))
        for log, position in self._positions.items():
            consumer.seek(partitions[log], position)
        self._consumer = consumer
        self._epochs = Epochs(consumer._client.cluster, tuple({topic for topic, _ in self._positions}))
        self._out_of_range = 0
        self._pause()

    def _pause(self) -> None:
        for log in self._positions:
            change = self._consumer.resume if log in self._wanted else self._consumer.pause
            change(TopicPartition(*log))

    def _discard(self) -> None:
        """Drop the library's consumer; the next poll makes another at the same positions."""
        if self._epochs is not None:
            for log in self._positions:
                self._heard[log] = max(self._heard.get(log, -1), self._epochs.highest(log))
        self.close()
        self._assignment += 1
