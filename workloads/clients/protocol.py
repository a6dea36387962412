"""What roles need of a client library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple, Protocol, overload

from workloads.clients.outcome import Outcome, Type
from workloads.keys import Keyed

Log = tuple[str, int]
"""Topic and partition."""

ResetPolicy = Literal["earliest", "latest"]
"""Where reading goes on when a position is not in its log any more: at the log's first offset, or at its end."""


OUTSIDE = "the member is not in its group"
"""The error of positions that are added to a transaction with such a membership."""


class Completion(NamedTuple):
    """A send that has ended; `at` in ns of CLOCK_MONOTONIC."""

    op: int
    at: int
    outcome: Outcome


class Fetched(NamedTuple):
    """The broker that served records, and when its response arrived (ns)."""

    node: int
    at: int


class ReportedEnd(NamedTuple):
    """The end of a log as the response to a fetch reports it: the high watermark of the replica that served it.

    asked  ns, when the request was sent: what the broker knew then is in the response.
    """

    node: int
    asked: int
    offset: int


class Polled(NamedTuple):
    """A record returned by a poll; `leader_epoch` is its batch's, -1 for none. `fetched` is None if unknown.

    A tombstone has the payload with which it was sent. `keyed` is None for a record without a key of ours.
    timestamp  of the record, in ms since the epoch; None if unknown.
    """

    log: Log
    offset: int
    leader_epoch: int
    payload: bytes | None
    fetched: Fetched | None = None
    keyed: Keyed | None = None
    timestamp: int | None = None


class Batch(NamedTuple):
    """Records of one log and leader epoch that a poll returned, in the order of their offsets, by column: a poll may
    return thousands, and an object for each of them takes longer than all else that is done with it.

    leader_epoch, fetched  of all of them, as of `Polled`.
    keyed       of each; empty if no record has a key of ours.
    timestamps  of each; empty if unknown.
    """

    log: Log
    leader_epoch: int
    offsets: Sequence[int]
    payloads: Sequence[bytes | None]
    fetched: Fetched | None = None
    keyed: Sequence[Keyed | None] = ()
    timestamps: Sequence[int | None] = ()

    def records(self) -> Iterator[Polled]:
        of_each = zip(
            self.offsets,
            self.payloads,
            self.keyed or [None] * len(self.offsets),
            self.timestamps or [None] * len(self.offsets),
            strict=True,
        )
        for offset, payload, keyed, timestamp in of_each:
            yield Polled(self.log, offset, self.leader_epoch, payload, self.fetched, keyed, timestamp)


class PolledRecords(Sequence[Polled]):
    """What a poll returned: batches, and as a sequence the records in them."""

    def __init__(self, batches: Iterable[Batch] = ()) -> None:
        self.batches = tuple(batches)
        self._count = sum(len(batch.offsets) for batch in self.batches)

    @classmethod
    def of(cls, records: Iterable[Polled]) -> PolledRecords:
        """From single records, of each log in the order of their offsets."""
        return cls(
            _batch(log, epoch, fetched, list(group))
            for (log, epoch, fetched), group in groupby(
                records, key=lambda each: (each.log, each.leader_epoch, each.fetched)
            )
        )

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Polled]:
        for batch in self.batches:
            yield from batch.records()

    @overload
    def __getitem__(self, place: int) -> Polled: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Polled]: ...
    def __getitem__(self, place: int | slice) -> Polled | Sequence[Polled]:
        return [*self][place]


def _batch(log: Log, epoch: int, fetched: Fetched | None, records: Sequence[Polled]) -> Batch:
    _, offsets, _, payloads, _, keyed, timestamps = zip(*records, strict=True)
    return Batch(log, epoch, offsets, payloads, fetched, keyed if any(keyed) else (), timestamps)


class LostPosition(NamedTuple):
    """A position that is not in its log any more, as a broker says.

    divergence  the offset at which the log that was read and the leader's differ: the consumer goes on from there.
                None if brokers only refuse the position, again and again: a leader that was replaced does so, too.
    """

    log: Log
    position: int
    divergence: int | None = None


class Ending(NamedTuple):
    """How a transaction or a commit of positions ended. ``fail``: it never takes effect."""

    type: Type
    error: str | None = None


class CommitReport(NamedTuple):
    """A commit of positions that was sent within `Member.poll`, as the library reported it.

    invoked, completed  ns; not later, and not earlier, than it was sent and answered. `completed` is None without an
                        answer.
    generation          in which it was sent; None if unknown.
    """

    positions: Mapping[Log, int]
    ending: Ending
    invoked: int
    completed: int | None
    generation: int | None


class MemberEvent(NamedTuple):
    """A partition that a member of a group got or gave up, at `at` (ns); `start` is the first offset to read of an
    assigned one."""

    event: Literal["assigned", "revoked", "lost"]
    log: Log
    at: int
    generation: int | None
    start: int | None = None


AcknowledgementType = Literal["accept", "release", "reject"]
"""What a consumer of a share group says of a record: it is done with it, it gives it back, it refuses it for good."""


class Delivered(NamedTuple):
    """A record that a consumer of a share group acquired.

    deliveries  how often it was delivered, this time included, as the broker counts; None if unknown.
    """

    log: Log
    offset: int
    payload: bytes | None
    deliveries: int | None


class Acknowledgement(NamedTuple):
    """Of a record of the last poll."""

    log: Log
    offset: int
    type: AcknowledgementType


class ShareProgress(NamedTuple):
    """How far a share group has got in a log, as its coordinator reports it.

    start           all records below this offset are accepted, or archived.
    lag             the number of records from there on that are neither; None if unknown.
    delivery_limit  deliveries after which a record is archived; None if unknown.
    """

    start: int
    lag: int | None
    delivery_limit: int | None


class Producer(Protocol):
    """Sends records; each ends with exactly one completion."""

    @property
    def in_flight(self) -> int:
        """The number of sends whose completion has not been taken."""

    def send(self, op: int, log: Log, payload: bytes, keyed: Keyed | None = None) -> None:
        """Hand over a record. Never raises for an error of Kafka: a refusal is a completion, too."""

    def take(self, timeout: float) -> list[Completion]:
        """The completions since the last call; waits up to `timeout` seconds for the first."""

    def problem(self) -> str | None:
        """Why this producer can no longer be used, or None."""

    def leader_epoch(self, log: Log) -> int:
        """The highest leader epoch that this producer has seen, at least that of its last acknowledgement. -1 if it
        has seen none, or cannot know whether the last acknowledgement is of a later one."""

    def close(self, timeout: float) -> list[Completion]:
        """Close it within about `timeout` seconds. Returns a completion for every send that has none taken yet."""


class TransactionalProducer(Producer, Protocol):
    """A producer that has claimed a transactional id. It sends within transactions only. For one thread.

    producer_id, epoch  as the coordinator gave them; None if the library does not tell.
    """

    producer_id: int | None
    epoch: int | None

    def begin(self) -> None:
        """Begin a transaction. Asks no broker. Raises OSError where this producer can no longer be used."""

    def add_positions(self, positions: Mapping[Log, int], membership: Any, limit: float) -> Ending:
        """Add a commit of a group's positions to the transaction: the next offset to read of each log.

        membership  `Member.membership` of the member that read them. With None they are refused: the coordinator
                    would accept positions without a membership from anyone.
        """

    def end(self, outcome: Literal["commit", "abort"], limit: float) -> Ending:
        """Request the outcome, and wait up to `limit` seconds for its acknowledgement. All sends must have ended.

        After anything but ``ok`` the producer cannot be used any more.
        """


class Member(Protocol):
    """A member of a consumer group, which subscribes to topics. For one thread.

    id          as the coordinator gave it; empty before it joined.
    membership  what `TransactionalProducer.add_positions` of the same library needs, as of the records that were
                polled last; None if it is not in its group.
    """

    @property
    def id(self) -> str: ...

    @property
    def membership(self) -> Any: ...

    @property
    def generation(self) -> int | None:
        """Of the partitions that it has now, or the member epoch; None before it joined."""

    @property
    def assignment(self) -> int:
        """Grows whenever partitions are assigned or positions are set."""

    @property
    def positions(self) -> Mapping[Log, int]:
        """The next offset to read of each partition that it has, as far as they are known."""

    def poll(self, timeout: float) -> PolledRecords:
        """As `Consumer.poll`. Call `events` after it, before anything else is recorded."""

    def events(self) -> list[MemberEvent]:
        """What happened to its partitions since the last call, in order."""

    def commit(self, positions: Mapping[Log, int], limit: float) -> Ending:
        """Commit positions: the next offset to read of each log."""

    def allow_commits(self) -> None:
        """What the polls have returned until now is on disk, so that commits within `poll` may cover it. Raises
        ValueError where the setting `commits_in_poll` is not possible; see `Library.member`."""

    def commit_reports(self) -> list[CommitReport]:
        """The commits within `poll` that have ended since the last call; after `close`, also those without an
        answer."""

    def seek(self, log: Log, offset: int) -> None:
        """Go on from this offset, in another assignment."""

    def close(self) -> None:
        """Leave the group, unless the member is static."""


class ShareConsumer(Protocol):
    """A consumer of a share group (KIP-932), which subscribes to topics. For one thread.

    All records of a poll have to be acknowledged before the next one.
    """

    @property
    def lock(self) -> float | None:
        """Seconds for which it has what it acquired; None before a broker has reported it."""

    def poll(self, timeout: float) -> list[Delivered]:
        """Records that it acquired; empty after about `timeout` seconds, and while brokers fail."""

    def acknowledge(self, records: Sequence[Acknowledgement], limit: float) -> Mapping[Log, Ending]:
        """Acknowledge all records of the last poll, and wait for the answers of the brokers, by log. ``fail``:
        nothing was sent."""

    def progress(self, limit: float) -> Mapping[Log, ShareProgress]:
        """Of the group, of the logs that its coordinator reports. Raises OSError."""

    def close(self) -> None:
        """Leave the group, and give back what was not acknowledged."""


class Consumer(Protocol):
    """Reads logs from given positions. It moves a position only past the records that it has returned, and past the
    markers of transactions behind them."""

    @property
    def assignment(self) -> int:
        """Grows whenever positions are set again. The order of offsets is checked only within one assignment."""

    @property
    def positions(self) -> Mapping[Log, int]: ...

    def poll(self, timeout: float) -> PolledRecords:
        """Records, of each log in the order of their offsets; empty after about `timeout` seconds.

        It is empty, too, while brokers fail; the caller decides how long that may last.
        """

    def only(self, logs: tuple[Log, ...]) -> None:
        """Poll only these logs from now on; the others keep their positions."""

    def lost(self) -> list[LostPosition]:
        """Positions that brokers refuse now, and those of which the log was truncated since the last call."""

    def seek(self, log: Log, offset: int) -> None:
        """Go on from this offset, in another assignment."""

    def leader_epoch(self, log: Log) -> int:
        """The highest leader epoch that this consumer has seen; -1 for none."""

    def reported_end(self, log: Log, *, since: int) -> ReportedEnd | None:
        """The end in the last response to a fetch that was sent at or after `since` (ns); None before there is one.

        Raises NotImplementedError where the library does not expose it, see `Library.check_reported_ends`.
        """

    def close(self) -> None: ...


class DelegatingProducer:
    """Implements `protocol.Producer` by the producer `inner`: transactions add to it, and change nothing of it."""

    def __init__(self, inner: Producer) -> None:
        self._inner = inner

    @property
    def in_flight(self) -> int:
        return self._inner.in_flight

    def send(self, op: int, log: Log, payload: bytes, keyed: Keyed | None = None) -> None:
        self._inner.send(op, log, payload, keyed)

    def take(self, timeout: float) -> list[Completion]:
        return self._inner.take(timeout)

    def problem(self) -> str | None:
        return self._inner.problem()

    def leader_epoch(self, log: Log) -> int:
        return self._inner.leader_epoch(log)

    def close(self, timeout: float) -> list[Completion]:
        return self._inner.close(timeout)
