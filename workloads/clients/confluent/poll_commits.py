"""Commits of positions that librdkafka sends while a member polls: automatic ones, and those within a rebalance.

A synchronous commit in the callback of a rebalance has no limit: with a coordinator that was down, or that did not
answer, it held the callback for more than 80 s, with socket.timeout.ms and session.timeout.ms of 3 s (librdkafka
2.16, mock cluster). A commit in another thread got no answer before the callback returned. So the callback only sends
the request. It precedes the request that gives the partitions up, on the same connection, and its answer is reported
at a later poll.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from confluent_kafka import Consumer as Library
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from workloads.clients.protocol import CommitReport, Ending, Log

Kind = Literal["auto", "revoked"]


class Moment(NamedTuple):
    """at in ns."""

    at: int
    generation: int | None


class PollCommits:
    """The commits of one member. It is called by the thread that polls, and by that which closes the library."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._began = Moment(time.monotonic_ns(), None)
        self._allowed: dict[Log, int] = {}
        """Of each partition that the member has: up to where a commit may go."""
        self._settled: dict[Log, int] = {}
        """Of these: up to where commits need not go, because they have."""
        self._since: dict[Log, dict[int, Moment]] = {}
        """When the library was first allowed to commit an offset."""
        self._sent: dict[str, tuple[dict[Log, int], Moment]] = {}
        """Commits of revoked partitions without an answer, by the metadata of their request."""
        self._numbers = 0
        self._reports: list[CommitReport] = []

    def allow(self, library: Library, positions: Mapping[Log, int], generation: int | None) -> None:
        """All records below these positions that polls returned are on disk."""
        moved = {
            log: offset
            for log, offset in positions.items()
            if offset > max(self._settled.get(log, -1), self._allowed.get(log, -1))
        }
        self._allowed |= moved
        if self._kind == "revoked" or not moved:
            return
        now = Moment(time.monotonic_ns(), generation)
        for log, offset in moved.items():
            self._since.setdefault(log, {}).setdefault(offset, now)
        # It refuses partitions that a rebalance has taken away since.
        with suppress(KafkaException):
            library.store_offsets(offsets=[TopicPartition(*log, offset) for log, offset in moved.items()])

    def settle(self, positions: Mapping[Log, int]) -> None:
        """The group has, or starts at, these positions already."""
        self._settled |= positions

    def forget(self, log: Log) -> None:
        """It is not the member's any more, or anew."""
        self._allowed.pop(log, None)
        self._settled.pop(log, None)

    def revoke(self, library: Library, logs: Iterable[Log], generation: int | None) -> None:
        """Within the callback of a rebalance that takes these partitions away."""
        positions = {log: self._allowed[log] for log in logs if log in self._allowed}
        positions = {log: offset for log, offset in positions.items() if offset > self._settled.get(log, -1)}
        if self._kind != "revoked" or not positions:
            return
        self._numbers += 1
        name, moment = str(self._numbers), Moment(time.monotonic_ns(), generation)
        offsets = [TopicPartition(*log, offset, name) for log, offset in positions.items()]
        self._sent[name] = positions, moment
        try:
            library.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            # Nothing may leave the callback. Whether the request was sent is unknown.
            del self._sent[name]
            ending = Ending("info", error.args[0].name())
            self._reports.append(
                CommitReport(positions, ending, moment.at, time.monotonic_ns(), moment.generation)
            )

    def answered(
        self, error: KafkaError | None, partitions: list[TopicPartition], generation: int | None
    ) -> None:
        """The library's callback ``on_commit``. generation: now; None during a rebalance."""
        # Among those of an automatic commit are partitions that have not moved, without an offset.
        committed = [each for each in partitions if each.offset >= 0]
        positions = {(each.topic, each.partition): each.offset for each in committed}
        errors = {each.name() for each in (error, *(one.error for one in committed)) if each is not None}
        ending = Ending("info", ", ".join(sorted(errors))) if errors else Ending("ok")
        if not positions:
            return
        if self._kind == "auto":
            moment = self._earliest(positions, generation)
        elif (sent := self._sent.pop(committed[0].metadata or "", None)) is not None:
            moment = sent[1]
        else:
            # It was not sent within a rebalance, and the caller of `Member.commit` has its answer.
            return
        self._reports.append(
            CommitReport(positions, ending, moment.at, time.monotonic_ns(), moment.generation)
        )

    def take(self) -> list[CommitReport]:
        reports, self._reports = self._reports, []
        return reports

    def close(self) -> None:
        """No answer arrives any more."""
        sent, self._sent = self._sent, {}
        for positions, moment in sent.values():
            self._reports.append(
                CommitReport(positions, Ending("info", "no answer"), moment.at, None, moment.generation)
            )

    def _earliest(self, positions: Mapping[Log, int], generation: int | None) -> Moment:
        """The request was not sent before all of its offsets were allowed. If the generation is still the same, the
        request was sent in it."""
        moments = [self._since.get(log, {}).get(offset, self._began) for log, offset in positions.items()]
        for log, offset in positions.items():
            # It commits no lower offset any more, except after another assignment.
            known = self._since.get(log, {})
            self._since[log] = {each: moment for each, moment in known.items() if each >= offset}
        same = generation is not None and all(each.generation == generation for each in moments)
        return Moment(max(each.at for each in moments), generation if same else None)
