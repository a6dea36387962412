"""The consumer of kafka-python behind our protocol, and what a member of a group shares with it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError, RetriableError

from workloads.clients.connection import Address
from workloads.clients.epochs import Epochs
from workloads.clients.kafka_python.settings import COMMON, access
from workloads.clients.protocol import Batch, Fetched, Log, LostPosition, PolledRecords, ReportedEnd
from workloads.keys import Keyed, from_wire

CONSUMER: dict[str, Any] = {
    "group_id": None,
    # Any policy would move the position without a trace.
    "auto_offset_reset": "none",
    "enable_auto_commit": False,
    "fetch_max_wait_ms": 100,
    "max_poll_records": 2000,
    # Payloads carry a CRC of their own, which is checked; checking both costs three quarters of the throughput.
    "check_crcs": False,
}

REFUSALS = 5
"""Answers in a row that a position is out of range, after which it counts as refused: metadata may be outdated."""

OUT_OF_RANGE_LIMIT = 20
"""Such answers in a row after which the consumer is replaced, in case it asks the wrong broker for ever."""


class KafkaPythonConsumer:
    """Implements `protocol.Consumer`. A poll without a connection makes one."""

    def __init__(
        self,
        *,
        bootstrap: Iterable[Address],
        start: Mapping[Log, int],
        assignment: int = 0,
        committed: bool = False,
        rack: str | None = None,
    ) -> None:
        isolation = "read_committed" if committed else "read_uncommitted"
        place = {} if rack is None else {"client_rack": rack}
        self._settings = {**COMMON, **CONSUMER, **place, **access(bootstrap), "isolation_level": isolation}
        self._positions = dict(start)
        self._assignment = assignment
        self._wanted: frozenset[Log] = frozenset(start)
        self._heard: dict[Log, int] = {}
        self._out_of_range = 0
        self._refusals: Counter[Log] = Counter()
        self._truncated: list[LostPosition] = []
        self._consumer: Any = None
        self._epochs: Epochs | None = None
        self._fetches: Fetches | None = None
        self._connectivity: Connectivity | None = None

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
        self._positions[log] = offset
        del self._refusals[log]
        self._discard()

    def only(self, logs: tuple[Log, ...]) -> None:
        if unknown := sorted(set(logs) - set(self._positions)):
            raise ValueError(f"logs {unknown} are not assigned; these are: {sorted(self._positions)}")
        self._wanted = frozenset(logs)
        if self._consumer is not None:
            self._pause()

    def poll(self, timeout: float) -> PolledRecords:
        try:
            if self._consumer is None:
                self._connect()
            let_go_of_consumed_response(self._consumer._fetcher)
            batches = self._consumer.poll(timeout_ms=int(timeout * 1000))
        except OffsetOutOfRangeError as error:
            # A broker that does not know yet that it lost the leadership reports this for offsets that exist.
            self._out_of_range += 1
            self._refusals.update((partition.topic, partition.partition) for partition in error.args[0])
            self._consumer._client.cluster.request_update()
            if self._out_of_range >= OUT_OF_RANGE_LIMIT:
                self._discard()
            time.sleep(min(0.05, timeout))
            return PolledRecords()
        except LogTruncationError as error:
            # The records read beyond the divergence are gone. Read the ones that replaced them.
            for partition, divergence in error.divergent_offsets.items():
                log = (partition.topic, partition.partition)
                if divergence is not None and log in self._positions:
                    position, target = self._positions[log], min(self._positions[log], divergence.offset)
                    self._truncated.append(LostPosition(log, position, target))
                    self._positions[log] = target
            self._discard()
            return PolledRecords()
        except RetriableError:
            if self._consumer is None:
                time.sleep(min(0.1, timeout))
            return PolledRecords()
        except KafkaError:
            # UnknownBrokerIdError leaves a broker marked as being fetched from for ever.
            self._discard()
            time.sleep(min(0.1, timeout))
            return PolledRecords()
        if batches:
            self._out_of_range = 0
        polled = PolledRecords(
            each for partition, records in batches.items() for each in self._accept(partition, records)
        )
        self._pass_markers()
        if not polled and self._connectivity is not None and self._connectivity.is_stranded():
            self._discard()
        return polled

    def leader_epoch(self, log: Log) -> int:
        known = self._epochs.highest(log) if self._epochs is not None else -1
        return max(known, self._heard.get(log, -1))

    def reported_end(self, log: Log, *, since: int) -> ReportedEnd | None:
        reported = self._fetches.end(TopicPartition(*log)) if self._fetches is not None else None
        return reported if reported is not None and reported.asked >= since else None

    def close(self) -> None:
        consumer, self._consumer, self._epochs = self._consumer, None, None
        if consumer is not None:
            # In a thread, because the library's close() may hang.
            closing = threading.Thread(
                target=consumer.close, kwargs={"autocommit": False, "timeout_ms": 1000}, daemon=True
            )
            closing.start()
            closing.join(5)

    def _accept(self, partition: Any, records: list[Any]) -> list[Batch]:
        log = (partition.topic, partition.partition)
        del self._refusals[log]
        fetched = self._fetches.source(partition, records[0].offset) if self._fetches is not None else None
        accepted = to_batches(log, records, fetched)
        self._positions[log] = records[-1].offset + 1
        self._heard[log] = max(self._heard.get(log, -1), *(each.leader_epoch for each in accepted))
        return accepted

    def _pass_markers(self) -> None:
        """Move positions past markers of transactions, which no poll returns: a log may end with them."""
        for partition, state in self._consumer._subscription.assignment.items():
            log = (partition.topic, partition.partition)
            if state.position is not None:
                self._positions[log] = max(self._positions[log], state.position.offset)

    def _connect(self) -> None:
        consumer = KafkaConsumer(**self._settings)
        partitions = {log: TopicPartition(*log) for log in self._positions}
        consumer.assign(list(partitions.values()))
        for log, position in self._positions.items():
            consumer.seek(partitions[log], position)
        self._consumer = consumer
        self._fetches = Fetches(consumer._fetcher)
        self._connectivity = Connectivity(consumer._client._manager)
        self._epochs = Epochs(consumer._client.cluster, tuple({topic for topic, _ in self._positions}))
        self._out_of_range = 0
        self._pause()

    def _pause(self) -> None:
        for log in self._positions:
            change = self._consumer.resume if log in self._wanted else self._consumer.pause
            change(TopicPartition(*log))

    def _discard(self) -> None:
        """Close the library's consumer; the next poll makes another at the same positions."""
        if self._epochs is not None:
            for log in self._positions:
                self._heard[log] = max(self._heard.get(log, -1), self._epochs.highest(log))
        self.close()
        self._assignment += 1


class Fetches:
    """Which broker served a record, when its response arrived, and which end of the log the last response reported.

    kafka-python returns records from a buffer: a record may wait there, also while the log is truncated, and nothing
    in it says where it came from. At most one response per partition is buffered, and the next one begins behind it.
    So this follows the responses of a fetcher. One look-up serves all records that a poll got of a partition.
    """

    def __init__(self, fetcher: Any) -> None:
        self._handle = fetcher._handle_fetch_response
        self._latest: dict[Any, tuple[tuple[int, Fetched], ...]] = {}
        """Partition to first offset and source of the last two responses with records: the next one may arrive before
        the poll that took the last record of the one before has returned."""
        self._watermarks: dict[tuple[int, Any], int] = {}
        """The last high watermark by broker and partition. In a fetch session (KIP-227), a broker leaves out the
        partitions of which nothing has changed."""
        self._ends: dict[Any, ReportedEnd] = {}
        fetcher._handle_fetch_response = self._note

    def source(self, partition: Any, offset: int) -> Fetched | None:
        """Of a record that a poll has just returned; None if it is unknown."""
        for start, source in reversed(self._latest.get(partition, ())):
            if start <= offset:
                return source
        return None

    def end(self, partition: Any) -> ReportedEnd | None:
        """As the last response reported it. Responses that only name the replica to read from do not count."""
        return self._ends.get(partition)

    def _note(self, node_id: int, fetch_offsets: Any, send_time: float, response: Any) -> Any:
        source = Fetched(node_id, time.monotonic_ns())
        reported = {
            (topic.topic, data.partition_index): data
            for topic in response.responses
            for data in topic.partitions
        }
        for partition, offset in fetch_offsets.items():
            data = reported.get((partition.topic, partition.partition))
            if data is not None and data.records:
                self._latest[partition] = (*self._latest.get(partition, ())[-1:], (offset, source))
        if not response.error_code:
            self._note_ends(node_id, fetch_offsets, int(send_time * 1e9), reported)
        return self._handle(node_id, fetch_offsets, send_time, response)

    def _note_ends(self, node_id: int, fetch_offsets: Any, asked: int, reported: Any) -> None:
        for partition in fetch_offsets:
            at, data = (node_id, partition), reported.get((partition.topic, partition.partition))
            if data is not None:
                if data.error_code or data.high_watermark < 0 or data.preferred_read_replica >= 0:
                    # A broker that names another replica to read from returns no records, and its own watermark.
                    self._watermarks.pop(at, None)
                    continue
                self._watermarks[at] = data.high_watermark
            if at in self._watermarks:
                self._ends[partition] = ReportedEnd(node_id, asked, self._watermarks[at])


STRANDED_LIMIT = 5.0
"""Seconds without a connection after which a client counts as stranded. To connect again takes a second at most."""


class Connectivity:
    """Follows one client of the library through its connection manager, in case it loses all brokers that it knows,
    while a bootstrap may find others.

    The library never bootstraps again (KIP-899): if its metadata names one broker only, because the others were down,
    and then that one fails and the others return, the client waits for that one for ever.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._connected = time.monotonic()

    def is_stranded(self) -> bool:
        """Whether it has had no connection for `STRANDED_LIMIT` seconds, and a new client would ask brokers that it
        does not know. Call it often."""
        if any(connection.connected for connection in list(self._manager._conns.values())):
            self._connected = time.monotonic()
            return False
        if time.monotonic() - self._connected < STRANDED_LIMIT:
            return False
        cluster = self._manager.cluster
        known = {(broker.host, broker.port) for broker in cluster.brokers()}
        return any((broker.host, broker.port) not in known for broker in cluster.bootstrap_brokers())


def let_go_of_consumed_response(fetcher: Any) -> None:
    """Call it before a poll. A response is false once all of its records were polled.

    kafka-python keeps the records of a partition that was paused before all of them were polled. After the partition
    is resumed it returns them only if its fetcher holds no other response, and a response whose records were all
    polled counts as one: without another partition to poll, the resumed one then returns nothing for ever
    (kafka-python 3.0.12).
    """
    if not fetcher._next_partition_records:
        fetcher._next_partition_records = None


def to_batches(log: Log, records: Iterable[Any], fetched: Fetched | None) -> list[Batch]:
    """records: of the class ConsumerRecord."""
    return [_batch(log, epoch, [*group], fetched) for epoch, group in groupby(records, key=_EPOCH)]


_EPOCH = attrgetter("leader_epoch")


def _batch(log: Log, epoch: int, records: list[Any], fetched: Fetched | None) -> Batch:
    payloads: Sequence[bytes | None] = [each.value for each in records]
    keyed: Sequence[Keyed | None] = ()
    if any(each.key is not None for each in records):
        payloads, keyed = zip(
            *[
                (each.value, None) if each.key is None else from_wire(each.key, each.value, each.headers)
                for each in records
            ],
            strict=True,
        )
    return Batch(
        log, epoch, [each.offset for each in records], payloads, fetched, keyed if any(keyed) else (),
        [each.timestamp for each in records],
    )  # fmt: skip
