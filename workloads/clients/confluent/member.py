"""A member of a consumer group with confluent-kafka, behind our protocol."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

from confluent_kafka import Consumer as Library
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from workloads.clients.confluent.consumer import CLOSE_LIMIT, CONSUMER, to_polled
from workloads.clients.confluent.poll_commits import PollCommits
from workloads.clients.confluent.settings import COMMON, access, call_within
from workloads.clients.connection import Address
from workloads.clients.protocol import CommitReport, Ending, Log, MemberEvent, Polled, PolledRecords

AT_ONCE = 500
"""Records of one poll: they are taken one by one, because callbacks of a rebalance run between them."""

START_LIMIT = 3.0
"""Seconds for the coordinator, and for the leaders, to answer where an assigned partition begins."""

METADATA = struct.Struct("=7si")
"""How librdkafka's group metadata begins: its format, and the generation or member epoch."""

METADATA_FORMAT = b"CGMDv2:"


def configuration(group: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of librdkafka from our own, which `workloads.clients.library.Library.member` lists."""
    config = {
        "group.id": group,
        "group.protocol": settings.get("protocol", "classic"),
        "auto.offset.reset": settings.get("auto_offset_reset", "earliest"),
        "isolation.level": "read_committed" if settings.get("committed") else "read_uncommitted",
    }
    if "max_poll_interval" in settings:
        config["max.poll.interval.ms"] = round(settings["max_poll_interval"] * 1000)
    if settings.get("commits_in_poll") == "auto":
        config["enable.auto.commit"] = True
        config["auto.commit.interval.ms"] = round(settings["commit_interval"] * 1000)
    if settings.get("instance") is not None:
        config["group.instance.id"] = settings["instance"]
    if config["group.protocol"] == "consumer":
        # The group's coordinator decides the others; the library refuses them.
        return config | ({"group.remote.assignor": "range"} if settings.get("assignor") == "range" else {})
    for ours, theirs in (
        ("session_timeout", "session.timeout.ms"),
        ("heartbeat_interval", "heartbeat.interval.ms"),
    ):
        if ours in settings:
            config[theirs] = round(settings[ours] * 1000)
    if "assignor" in settings:
        if settings["assignor"] == "sticky":
            raise ValueError(
                "assignor='sticky' with confluent-kafka: expected 'range', 'roundrobin' or 'cooperative-sticky'"
            )
        config["partition.assignment.strategy"] = settings["assignor"]
    return config


def generation_of(metadata: Any) -> int | None:
    """The generation in the library's group metadata; None before it joined, or in another format."""
    if not isinstance(metadata, bytes) or len(metadata) < METADATA.size:
        return None
    kind, generation = METADATA.unpack_from(metadata)
    return generation if kind == METADATA_FORMAT and generation >= 0 else None


class ConfluentMember:
    """Implements `protocol.Member`. For one thread: callbacks run within `poll`.

    What a rebalance changed counts after the records that were polled before it, at the next poll.
    """

    def __init__(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> None:
        config = configuration(group, settings)
        self._policy: str = config["auto.offset.reset"]
        self._is_incremental = (
            "cooperative-sticky" in config.values() or config["group.protocol"] == "consumer"
        )
        self._id = ""
        self._assignment = 0
        self._generation: int | None = None
        self._positions: dict[Log, int] = {}
        self._owned: set[Log] = set()
        self._changes: list[MemberEvent] = []
        """Not applied yet."""
        self._metadata_before: Any = None
        """The group metadata when the first of these changes began."""
        self._events: list[MemberEvent] = []
        self._held: Message | None = None
        """The first message after the changes."""
        kind = settings.get("commits_in_poll")
        self._commits = None if kind is None else PollCommits(kind)
        if self._commits is not None:
            config["on_commit"] = self._committed
        self._consumer: Library | None = Library({**COMMON, **CONSUMER, **access(bootstrap), **config})
        self._consumer.subscribe(
            list(topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    @property
    def id(self) -> str:
        """As of the last assignment, also after `close`. The library gives it only while no request hangs."""
        return self._id

    @property
    def membership(self) -> Any:
        """The library's group metadata; None if the group has replaced this member.

        The coordinator accepts the positions of a transaction without a generation from anyone. And once a rebalance
        has taken a partition away, the generation after it must not commit what was polled from it before.
        """
        metadata = self._metadata_before if self._changes else self._library.consumer_group_metadata()
        return metadata if generation_of(metadata) is not None else None

    @property
    def generation(self) -> int | None:
        return self._generation

    @property
    def assignment(self) -> int:
        return self._assignment

    @property
    def positions(self) -> Mapping[Log, int]:
        # Of partitions that a rebalance within the last poll has taken away or given back, the position is that of
        # the former assignment. The library sends a commit of it with the epoch of the new one, and the coordinator
        # accepts it.
        changed = {change.log for change in self._changes}
        return {log: offset for log, offset in self._positions.items() if log not in changed}

    def poll(self, timeout: float) -> PolledRecords:
        polled: list[Polled] = []
        self._apply()
        message, self._held = self._held, None
        for _ in range(AT_ONCE):
            if message is None:
                message = self._next(0 if polled else timeout)
            if self._changes and polled:
                self._held = message
                break
            self._apply()
            if message is None:
                break
            if (record := self._accept(message)) is not None:
                polled.append(record)
            elif not polled:
                # An event, and not a record: the caller decides whether to wait again.
                timeout = 0
            message = None
        return PolledRecords.of(polled)

    def events(self) -> list[MemberEvent]:
        events, self._events = self._events, []
        return events

    def commit(self, positions: Mapping[Log, int], limit: float) -> Ending:
        """Every error is ``info``: the library retries by itself, and an earlier try may have been written."""
        offsets = [TopicPartition(*log, offset) for log, offset in positions.items()]
        try:
            library = self._library
            done = call_within(limit, lambda: library.commit(offsets=offsets, asynchronous=False)) or []
        except TimeoutError:
            return Ending("info", f"no answer within {limit:g} s")
        except KafkaException as error:
            return Ending("info", error.args[0].name())
        errors = sorted({each.error.name() for each in done if each.error is not None})
        if errors:
            return Ending("info", ", ".join(errors))
        if self._commits is not None:
            self._commits.settle(positions)
        return Ending("ok")

    def allow_commits(self) -> None:
        if self._commits is None:
            raise ValueError("made without the setting commits_in_poll")
        self._commits.allow(self._library, self.positions, self._generation)

    def commit_reports(self) -> list[CommitReport]:
        return [] if self._commits is None else self._commits.take()

    def seek(self, log: Log, offset: int) -> None:
        self._library.seek(TopicPartition(*log, offset))
        self._positions[log] = offset
        self._assignment += 1

    def close(self) -> None:
        if self._consumer is None:
            return
        consumer, self._consumer = self._consumer, None
        # It gives the partitions up.
        with suppress(TimeoutError, KafkaException, RuntimeError):
            call_within(CLOSE_LIMIT, consumer.close)
        if self._commits is not None:
            self._commits.close()
        self._apply()

    @property
    def _library(self) -> Library:
        assert self._consumer is not None, "used after close"
        return self._consumer

    def _next(self, timeout: float) -> Message | None:
        try:
            return self._library.poll(timeout)
        except KafkaException:
            # Also while brokers fail; the library goes on by itself.
            time.sleep(min(0.05, timeout))
            return None

    def _accept(self, message: Message) -> Polled | None:
        topic, partition, offset, error = (
            message.topic(), message.partition(), message.offset(), message.error(),
        )  # fmt: skip
        if (
            topic is None
            or partition is None
            or offset is None
            or (log := (topic, partition)) not in self._owned
        ):
            return None
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                # Behind markers of transactions, which no poll returns.
                self._positions[log] = max(offset, self._positions.get(log, -1))
            return None
        self._positions[log] = offset + 1
        return to_polled(log, offset, message)

    def _apply(self) -> None:
        """Let the changes of rebalances count."""
        changes, self._changes = self._changes, []
        for change in changes:
            self._generation = change.generation if change.event == "assigned" else self._generation
            if change.event == "assigned":
                self._assignment += 1
                self._owned.add(change.log)
                # After `close`, an assignment may be left that came within the last poll.
                self._id = (self._consumer and self._consumer.memberid()) or self._id
                if change.start is not None:
                    self._positions[change.log] = change.start
                    if self._commits is not None:
                        self._commits.settle({change.log: change.start})
            else:
                self._owned.discard(change.log)
                self._positions.pop(change.log, None)
        self._events += changes

    # The following methods are called by the library, within poll.

    def _assigned(self, consumer: Library, partitions: list[TopicPartition]) -> None:
        starts = [self._start(consumer, each) for each in partitions]
        assigned = [
            each if start is None else TopicPartition(each.topic, each.partition, start)
            for each, start in zip(partitions, starts, strict=True)
        ]
        (consumer.incremental_assign if self._is_incremental else consumer.assign)(assigned)
        generation = generation_of(consumer.consumer_group_metadata())
        for each, start in zip(partitions, starts, strict=True):
            self._change("assigned", each, generation, start)

    def _start(self, consumer: Library, partition: TopicPartition) -> int | None:
        """The committed position, or where the policy says; None if nobody answers: the library then asks itself."""
        try:
            (committed,) = consumer.committed([partition], timeout=START_LIMIT)
            if committed.error is None and committed.offset >= 0:
                return int(committed.offset)
            if committed.error is None:
                first, end = consumer.get_watermark_offsets(partition, timeout=START_LIMIT)
                return int(first if self._policy == "earliest" else end)
        except (KafkaException, TypeError):
            # get_watermark_offsets returns None after its timeout, which is a TypeError here.
            pass
        return None

    def _committed(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        assert self._commits is not None
        self._commits.answered(error, partitions, None if self._changes else self._generation)

    def _revoked(self, library: Library, partitions: list[TopicPartition]) -> None:
        if self._commits is not None and self._consumer is not None:
            logs = [(each.topic, each.partition) for each in partitions]
            self._commits.revoke(library, logs, self._generation)
        for each in partitions:
            self._change("revoked", each, self._generation)

    def _lost(self, _: Library, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._change("lost", each, self._generation)

    def _change(
        self,
        event: Literal["assigned", "revoked", "lost"],
        partition: TopicPartition,
        generation: int | None,
        start: int | None = None,
    ) -> None:
        log = (partition.topic, partition.partition)
        if self._commits is not None:
            self._commits.forget(log)
        if not self._changes and self._consumer is not None:
            self._metadata_before = self._consumer.consumer_group_metadata()
        self._changes.append(MemberEvent(event, log, time.monotonic_ns(), generation, start))
