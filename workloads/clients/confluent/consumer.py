"""The consumer of confluent-kafka behind our protocol."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer as Library
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from workloads.clients.confluent.settings import COMMON, access
from workloads.clients.connection import Address
from workloads.clients.protocol import Log, LostPosition, Polled, PolledRecords, ReportedEnd
from workloads.keys import KEY, from_wire

CONSUMER: dict[str, Any] = {
    # librdkafka needs one. Nothing is committed and nobody joins, so the group is never created.
    "group.id": "kafkacheck",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # Any policy would move the position without a trace.
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
    "fetch.wait.max.ms": 100,
    "fetch.error.backoff.ms": 100,
    # Its event has the offset behind markers of transactions, which no poll returns: a log may end with them.
    "enable.partition.eof": True,
}

AT_ONCE = 2000
"""Records of one poll."""

REFUSALS = 5
"""Answers in a row that a position is out of range, after which it counts as refused: metadata may be outdated."""

PAUSE = 0.05
"""Seconds before a position that was refused is tried again."""

CLOSE_LIMIT = 5.0

OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)

TRUNCATION = re.compile(
    r"truncation detected .*broker end offset is (\d+) \(offset leader epoch \d+\)", re.DOTALL
)
"""How librdkafka describes a truncation. The end offset is that of the last epoch that both logs have: where they
diverge. It is nowhere else in the event."""


def divergence(text: str) -> int | None:
    """The offset at which the logs differ, as the text of an event states it; None if the event is no truncation."""
    found = TRUNCATION.search(text)
    return int(found[1]) if found else None


class ConfluentConsumer:
    """Implements `protocol.Consumer`. For one thread. Positions are set in one way only, by an assignment."""

    def __init__(
        self,
        *,
        bootstrap: Iterable[Address],
        start: Mapping[Log, int],
        assignment: int = 0,
        committed: bool = False,
        rack: str | None = None,
    ) -> None:
        self._positions = dict(start)
        self._assignment = assignment
        self._wanted: frozenset[Log] = frozenset(start)
        self._epochs: dict[Log, int] = {}
        self._fetched: dict[Log, int] = {}
        """The leader epoch of the last record before each position, with which brokers find truncations."""
        self._refusals: Counter[Log] = Counter()
        self._truncated: list[LostPosition] = []
        self._is_assigned = False
        # The library's own default is read_committed.
        isolation = {"isolation.level": "read_committed" if committed else "read_uncommitted"}
        place = {} if rack is None else {"client.rack": rack}
        self._configuration = {**COMMON, **CONSUMER, **isolation, **place, **access(bootstrap)}
        self._consumer: Library | None = Library(self._configuration)

    @property
    def assignment(self) -> int:
        return self._assignment

    @property
    def positions(self) -> Mapping[Log, int]:
        return self._positions

    def lost(self) -> list[LostPosition]:
        truncated, self._truncated = self._truncated, []
        refused = [log for log, count in self._refusals.items() if count >= REFUSALS]
        return truncated + [LostPosition(log, self._positions[log]) for log in refused]

    def seek(self, log: Log, offset: int) -> None:
        # By a new library object. The old one keeps its leader epochs: where the topic was created again, theirs are
        # lower, and librdkafka 2.16 then fetches nothing more. Measured: no record within 60 s.
        self.close()
        self._consumer = Library(self._configuration)
        self._set(log, offset)
        self._assignment += 1

    def only(self, logs: tuple[Log, ...]) -> None:
        if unknown := sorted(set(logs) - set(self._positions)):
            raise ValueError(f"logs {unknown} are not assigned; these are: {sorted(self._positions)}")
        if self._wanted != frozenset(logs):
            self._wanted = frozenset(logs)
            self._is_assigned = False

    def poll(self, timeout: float) -> PolledRecords:
        assert self._consumer is not None, "poll after close"
        try:
            if not self._is_assigned:
                self._assign(self._consumer)
            # The second call takes what is there; with a timeout it would wait for all AT_ONCE records.
            first = self._consumer.poll(timeout)
            rest = self._consumer.consume(AT_ONCE - 1, 0) if first is not None else []
        except KafkaException:
            time.sleep(min(PAUSE, timeout))
            return PolledRecords()
        messages = [first, *rest] if first is not None else []
        return PolledRecords.of(
            polled for each in messages if (polled := self._accept(each, timeout)) is not None
        )

    def leader_epoch(self, log: Log) -> int:
        return self._epochs.get(log, -1)

    def reported_end(self, log: Log, *, since: int) -> ReportedEnd | None:
        # Its cached watermarks have no time: they may be older than the read that would end at them.
        raise NotImplementedError

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            # In a thread, because the library's close() has no limit.
            closing = threading.Thread(target=consumer.close, daemon=True)
            closing.start()
            closing.join(CLOSE_LIMIT)

    def _accept(self, message: Message, timeout: float) -> Polled | None:
        """The record of a message. Takes note of an event, which is None."""
        topic, partition, offset, error = (
            message.topic(), message.partition(), message.offset(), message.error(),
        )  # fmt: skip
        if topic is None or partition is None or (log := (topic, partition)) not in self._wanted:
            return None
        if error is not None:
            self._event(log, offset, error, timeout)
            return None
        assert offset is not None
        epoch = message.leader_epoch()
        self._refusals.pop(log, None)
        self._positions[log] = offset + 1
        if epoch is not None and epoch >= 0:
            self._fetched[log] = epoch
            self._epochs[log] = max(epoch, self._epochs.get(log, -1))
        return to_polled(log, offset, message)

    def _event(self, log: Log, offset: int | None, error: KafkaError, timeout: float) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            if offset is not None and offset > self._positions[log]:
                self._positions[log] = offset
            return
        if error.code() not in OUT_OF_RANGE:
            # The library goes on by itself.
            return
        end = divergence(error.str())
        if end is not None:
            # The records read beyond the divergence are gone. Read the ones that replaced them.
            position, target = self._positions[log], min(self._positions[log], end)
            self._truncated.append(LostPosition(log, position, target))
            self._set(log, target)
            self._assignment += 1
            return
        # A broker that does not know yet that it lost the leadership reports this for offsets that exist. The library
        # reads the log no more until it is assigned again.
        self._refusals[log] += 1
        self._is_assigned = False
        time.sleep(min(PAUSE, timeout))

    def _set(self, log: Log, offset: int) -> None:
        self._positions[log] = offset
        self._fetched.pop(log, None)
        self._refusals.pop(log, None)
        self._is_assigned = False

    def _assign(self, consumer: Library) -> None:
        consumer.assign(
            [
                TopicPartition(*log, self._positions[log], leader_epoch=self._fetched.get(log, -1))
                for log in sorted(self._wanted)
            ]
        )
        self._is_assigned = True


def to_polled(log: Log, offset: int, message: Message) -> Polled:
    epoch, key = message.leader_epoch(), message.key()
    # Headers are decoded at each request. Only tombstones and records with a body need them, whose keys are not ours.
    is_plain = key is None or (len(key) == KEY.size and message.value() is not None)
    headers = None if is_plain else message.headers()
    pairs = headers.items() if isinstance(headers, dict) else headers
    payload, keyed = from_wire(key, message.value(), pairs)
    return Polled(log, offset, -1 if epoch is None else epoch, payload, None, keyed, message.timestamp()[1])
