"""A member of a consumer group, by kafka-python, behind our protocol."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from kafka import ConsumerGroupMetadata, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    NodeNotReadyError,
    RebalanceInProgressError,
    RetriableError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
)

from workloads.clients.connection import Address
from workloads.clients.kafka_python.assignments import Assignments, go_on_joining
from workloads.clients.kafka_python.consumer import CONSUMER, Connectivity, Fetches, to_batches
from workloads.clients.kafka_python.settings import COMMON, access
from workloads.clients.protocol import Batch, CommitReport, Ending, Log, MemberEvent, PolledRecords

REFUSED = (CommitFailedError, FencedInstanceIdError, NodeNotReadyError, RebalanceInProgressError)
"""A commit with one of these takes no effect. A broker that answers NotCoordinator or CoordinatorNotAvailable may
have written it before, and so may one that does not answer."""

OUTDATED = (IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)
"""A poll raises these once, after a heartbeat was refused; the next one joins the group again."""

CLOSE_LIMIT = 3.0
"""Seconds to leave the group. The library's close() may hang, so that it runs in a thread of its own."""


class KafkaPythonMember:
    """Implements `protocol.Member`. A poll without a connection makes one.

    A coordinator that becomes silent while the member joins holds it up for `max_poll_interval` and 5 s.
    """

    def __init__(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> None:
        self._config = {**COMMON, **member_settings(group, settings), **access(bootstrap)}
        self._topics = topics
        self._id = ""
        self._generation: int | None = None
        self._number = 0
        self._events: list[MemberEvent] = []
        self._consumer: Any = None
        self._assignments: Assignments | None = None
        self._fetches: Fetches | None = None
        self._connectivity: Connectivity | None = None

    @property
    def id(self) -> str:
        return self._id

    @property
    def membership(self) -> Any:
        """kafka-python's ConsumerGroupMetadata as of the last poll; None before it joined.

        Not what the library has now. A member that the group has replaced has neither an id nor a generation, and
        the coordinator accepts the positions of a transaction without them from anyone.
        """
        if self._consumer is None or self._generation is None:
            return None
        return ConsumerGroupMetadata(
            group_id=self._config["group_id"],
            generation_id=self._generation,
            member_id=self._id,
            group_instance_id=self._config["group_instance_id"],
            state=None,
        )

    @property
    def generation(self) -> int | None:
        return self._generation

    @property
    def assignment(self) -> int:
        return self._assignments.number if self._assignments is not None else self._number

    @property
    def positions(self) -> Mapping[Log, int]:
        if self._consumer is None or self._assignments is None:
            return {}
        # The library keeps revoked partitions until it has joined the group again.
        owned = self._assignments.owned
        states = list(self._consumer._subscription.assignment.items())
        known = {
            (partition.topic, partition.partition): position.offset
            for partition, state in states
            if (position := state.position) is not None
        }
        return {log: offset for log, offset in known.items() if log in owned}

    def poll(self, timeout: float) -> PolledRecords:
        polled = self._poll(timeout)
        if not polled and self._connectivity is not None and self._connectivity.is_stranded():
            self._discard()
        return polled

    def _poll(self, timeout: float) -> PolledRecords:
        try:
            if self._consumer is None:
                self._connect()
            go_on_joining(self._consumer)
            batches = self._consumer.poll(timeout_ms=int(timeout * 1000))
        except (RetriableError, *OUTDATED):
            time.sleep(min(0.1, timeout))
            return PolledRecords()
        except KafkaError:
            # UnknownBrokerIdError leaves a broker marked as being fetched from for ever, and a fenced instance never
            # gets its partitions back.
            self._discard()
            time.sleep(min(0.1, timeout))
            return PolledRecords()
        self._note_generation()
        return PolledRecords(
            each for partition, records in batches.items() for each in self._accept(partition, records)
        )

    def events(self) -> list[MemberEvent]:
        events, self._events = self._events, []
        return events + (self._assignments.take() if self._assignments is not None else [])

    def commit(self, positions: Mapping[Log, int], limit: float) -> Ending:
        """One attempt, so that its answer alone says how it ended: the library's own commit() hides that an attempt
        before the refused one may have been carried out."""
        if self._consumer is None:
            return Ending("fail", "the member has no connection")
        coordinator, net = self._consumer._coordinator, self._consumer._net
        deadline = time.monotonic() + limit
        if not coordinator.ensure_coordinator_ready(timeout_ms=limit * 1000):
            return Ending("fail", "no coordinator found")
        offsets = {
            TopicPartition(*log): OffsetAndMetadata(offset, "", -1) for log, offset in positions.items()
        }
        left = max(deadline - time.monotonic(), 0.001)
        attempt = coordinator._manager.call_soon(coordinator._send_offset_commit_request, offsets)
        try:
            net.run(coordinator._manager.wait_for, attempt, left * 1000)
        except REFUSED as error:
            return Ending("fail", type(error).__name__)
        except KafkaError as error:
            return Ending("info", type(error).__name__)
        return Ending("ok")

    def allow_commits(self) -> None:
        raise ValueError("kafka-python commits nothing within a poll")

    def commit_reports(self) -> list[CommitReport]:
        return []

    def seek(self, log: Log, offset: int) -> None:
        if self._consumer is None or self._assignments is None or log not in self._assignments.owned:
            raise ValueError(f"log {log} is not assigned; these are: {sorted(self.positions)}")
        self._consumer.seek(TopicPartition(*log), offset)
        self._assignments.number += 1

    def close(self) -> None:
        self._discard()

    def _connect(self) -> None:
        consumer = KafkaConsumer(**self._config)
        try:
            # A leader of the group that has no metadata of a topic yet assigns none of its partitions. The library
            # does not join again when it gets them: 1 of 15 groups of a new topic stayed without partitions.
            unknown = [topic for topic in self._topics if not consumer.partitions_for_topic(topic)]
        except KafkaError:
            consumer.close(autocommit=False, timeout_ms=0)
            raise
        if unknown:
            consumer.close(autocommit=False, timeout_ms=0)
            raise UnknownTopicOrPartitionError(", ".join(unknown))
        self._assignments = Assignments(consumer, self._number)
        self._fetches = Fetches(consumer._fetcher)
        self._connectivity = Connectivity(consumer._client._manager)
        consumer.subscribe(list(self._topics), listener=self._assignments)
        self._consumer = consumer

    def _discard(self) -> None:
        """Leave the group. The next poll makes another consumer, which joins as another member."""
        consumer, assignments = self._consumer, self._assignments
        self._consumer = self._assignments = self._fetches = self._connectivity = None
        if consumer is None or assignments is None:
            return
        closing = threading.Thread(
            target=consumer.close, kwargs={"autocommit": False, "timeout_ms": 1000}, daemon=True
        )
        closing.start()
        closing.join(CLOSE_LIMIT)
        assignments.end()
        self._events += assignments.take()
        self._number = assignments.number + 1

    def _note_generation(self) -> None:
        # While it joins again, records that are in its buffer still belong to the generation before.
        coordinator = self._consumer._coordinator
        if (stable := coordinator.generation_if_stable()) is not None and stable.generation_id >= 0:
            self._generation, self._id = stable.generation_id, stable.member_id

    def _accept(self, partition: Any, records: list[Any]) -> list[Batch]:
        log = (partition.topic, partition.partition)
        fetched = self._fetches.source(partition, records[0].offset) if self._fetches is not None else None
        return to_batches(log, records, fetched)


ASSIGNORS: Mapping[str, type] = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}

NO_COMMITS_IN_POLL: Mapping[str, str] = {
    "revoked": "a commit during a rebalance: kafka-python gives partitions up in a thread of its own, also between "
    "two polls, when what they returned may not be on disk yet",
    "auto": "automatic commits: in a rebalance, kafka-python makes them in a thread of its own, without a report, "
    "when what polls returned may not be on disk yet",
}
"""Why kafka-python cannot do a value of `commits_in_poll`."""


def member_settings(group: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of KafkaConsumer; `settings` as `Library.member` has them. Raises ValueError for what it cannot do."""
    if (protocol := settings["protocol"]) != "classic":
        raise ValueError(
            f"protocol={protocol!r}: kafka-python has the group protocol 'classic' only; use "
            f"library='confluent-kafka' for 'consumer' (KIP-848)"
        )
    if (commits := settings.get("commits_in_poll")) is not None:
        raise ValueError(f"{NO_COMMITS_IN_POLL[commits]}; use library='confluent-kafka'")
    if settings["assignor"] not in ASSIGNORS:
        raise ValueError(f"assignor={settings['assignor']!r}: expected one of {', '.join(ASSIGNORS)}")
    return {
        **CONSUMER,
        "group_id": group,
        "group_instance_id": settings["instance"],
        "auto_offset_reset": settings["auto_offset_reset"],
        "isolation_level": "read_committed" if settings["committed"] else "read_uncommitted",
        "partition_assignment_strategy": [ASSIGNORS[settings["assignor"]]],
        "session_timeout_ms": round(settings["session_timeout"] * 1000),
        "heartbeat_interval_ms": round(settings["heartbeat_interval"] * 1000),
        "max_poll_interval_ms": round(settings["max_poll_interval"] * 1000),
    }
