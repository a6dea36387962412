"""The form of what is sent to a client, and of what it answers; its first line says what it is able to do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType, field

from workloads.clients.protocol import Acknowledgement, Batch, Delivered, Log, ShareProgress
from workloads.keys import Keyed, from_wire, to_wire

VERSION = 2
"""Of the protocol: a client has to speak exactly this one."""

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")

CAPABILITIES: Mapping[str, str] = {
    "producer": "sends records with acks of all, 1 and 0",
    "idempotence": "sends with enable.idempotence",
    "flush": "waits for its records by the flush() of its library",
    "headers": "sends and returns headers, and records without a value",
    "consumer": "reads given partitions from given offsets",
    "read-committed": "reads with isolation.level=read_committed",
    "leader-epochs": "returns the leader epoch of each record",
    "rack": "reads from a replica in its client.rack",
    "reported-ends": "returns the end of a log as a broker reported it",
    "transactions": "sends in transactions, and adds offsets of groups to them",
    "group-classic": "joins groups with the classic protocol",
    "group-consumer": "joins groups with the protocol of KIP-848",
    "static-members": "joins groups with a group.instance.id",
    **{f"assignor-{name}": f"shares partitions by the assignor {name}" for name in ASSIGNORS},
    "share-groups": "consumes as one of a share group, and acknowledges each record",
}
"""All that a client may state, and what each means."""


class Hello(NamedTuple):
    """library  the client library that it uses, and its version.
    has_clock  whether its times are of the same clock as `time.monotonic_ns` in this process.
    """

    library: str
    version: str
    capabilities: frozenset[str]
    has_clock: bool

    def __str__(self) -> str:
        return f"{self.library} {self.version}"

    def missing(self, needed: Collection[str]) -> list[str]:
        return sorted(set(needed) - self.capabilities)


def parse_hello(line: Mapping[str, Any], *, began: int, now: int) -> Hello:
    """began, now: ns, before it was started and after the line arrived. Raises ValueError that says what is wrong."""
    version = line.get("protocol")
    if version != VERSION:
        stated = "states no version of the protocol" if version is None else f"speaks version {version!r}"
        raise ValueError(f"{stated}, and kafkacheck speaks version {VERSION}")
    library = line.get("library")
    if not (
        isinstance(library, Mapping)
        and isinstance(library.get("name"), str)
        and isinstance(library.get("version"), str)
    ):
        raise ValueError(f'has library={library!r} in its hello: expected {{"name": TEXT, "version": TEXT}}')
    capabilities = line.get("capabilities")
    if not isinstance(capabilities, list) or not all(isinstance(each, str) for each in capabilities):
        raise ValueError(f"has capabilities={capabilities!r} in its hello: expected a list of texts")
    if unknown := sorted(set(capabilities) - set(CAPABILITIES)):
        raise ValueError(
            f"states the capabilities {', '.join(unknown)}, which are unknown; there are {', '.join(CAPABILITIES)}"
        )
    clock = line.get("clock")
    return Hello(
        library["name"],
        library["version"],
        frozenset(capabilities),
        type(clock) is int and began <= clock <= now,
    )


class Error(Struct, frozen=True):
    """Why a request failed, or a record.

    name   Kafka's own name of the error, such as NOT_ENOUGH_REPLICAS, or another in this form.
    sent   False: the client knows that no request with it was sent. None: it does not say.
    attempts   how many requests with it were sent; None if it does not say.
    retriable  whether it may succeed later.
    aborted    of the end of a transaction: whether the client knows that the transaction was aborted.
    message    in words.
    """

    name: str
    message: str = ""
    sent: bool | None = None
    attempts: int | None = None
    retriable: bool = False
    aborted: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name


class Refusal(Exception):
    """A client answered a request with this error."""

    def __init__(self, error: Error) -> None:
        super().__init__(str(error))
        self.error = error
        self.name, self.retriable = error.name, error.retriable


class Done(Struct, gc=False):
    """The completion of a record. offset: None where the broker gave none."""

    number: int = field(name="n")
    offset: int | None = None
    error: Error | None = None


class Line(Struct):
    """What all lines after the first one have: those of completions `done`, and answers `id`."""

    id: int | None = None
    error: Error | None = None
    done: list[Done] | UnsetType = UNSET


class Partition(Struct, gc=False):
    topic: str
    partition: int

    @property
    def log(self) -> Log:
        return self.topic, self.partition


Headers = list[tuple[str, bytes | None]]


class Sent(Partition, gc=False, omit_defaults=True):
    """A record to send."""

    n: int
    value: bytes | None
    key: bytes | None = None
    headers: Headers | None = None


class RecordBatch(Partition, gc=False):
    """Records of a poll, of one partition and one leader epoch, by column. A column that is None has nothing of any.

    deliveries  of share groups, this one included.
    timestamps  ms since the epoch.
    """

    offsets: list[int]
    values: list[bytes | None]
    epoch: int | None = None
    timestamps: list[int] | None = None
    keys: list[bytes | None] | None = None
    headers: list[Headers | None] | None = None
    deliveries: list[int | None] | None = None

    def __post_init__(self) -> None:
        count = len(self.offsets)
        for column in (self.values, self.timestamps, self.keys, self.headers, self.deliveries):
            if column is not None and len(column) != count:
                raise ValueError(f"a column of {len(column)} values for {count} offsets")
        if not count:
            raise ValueError("a batch without offsets")

    def batch(self) -> Batch:
        payloads, keyed = self._payloads()
        epoch = -1 if self.epoch is None else self.epoch
        return Batch(self.log, epoch, self.offsets, payloads, None, keyed, self.timestamps or ())

    def delivered(self) -> list[Delivered]:
        payloads, _ = self._payloads()
        counts = self.deliveries or [None] * len(payloads)
        return [
            Delivered(self.log, offset, payload, count)
            for offset, payload, count in zip(self.offsets, payloads, counts, strict=True)
        ]

    def _payloads(self) -> tuple[Sequence[bytes | None], Sequence[Keyed | None]]:
        if self.keys is None and self.headers is None:
            return self.values, ()
        keys = self.keys or [None] * len(self.values)
        headers = self.headers or [None] * len(self.values)
        payloads, keyed = zip(*map(from_wire, keys, self.values, headers), strict=True)
        return payloads, keyed if any(keyed) else ()


class Position(Partition, gc=False):
    offset: int


class Lost(Partition, gc=False):
    position: int
    divergence: int | None = None


class End(Partition, gc=False):
    """As `workloads.clients.protocol.ReportedEnd`."""

    offset: int
    node: int
    asked: int


class Move(Partition, gc=False):
    """A partition that a member got or gave up. at: ns; None without a clock."""

    event: Literal["assigned", "revoked", "lost"]
    start: int | None = None
    generation: int | None = None
    at: int | None = None


# What the answers to requests contain, beside what is of no use here.


class Opened(Struct):
    """Of a transactional producer: its id and epoch."""

    producer: int | None = None
    epoch: int | None = None


class Moves(Struct):
    events: list[Move] = []


class Poll(Moves, kw_only=True):
    """Of consumers and members."""

    records: list[RecordBatch]
    positions: list[Position]
    lost: list[Lost] = []
    ends: list[End] = []
    member: str | None = None
    generation: int | None = None


class SharePoll(Struct):
    """lock_ms: for how long a record that was delivered belongs to this consumer."""

    records: list[RecordBatch]
    lock_ms: int | None = None


class AcknowledgedPartition(Partition):
    error: Error | None = None


class Acknowledged(Struct):
    partitions: list[AcknowledgedPartition]

    def errors(self) -> dict[Log, Error | None]:
        return {each.log: each.error for each in self.partitions}


class PartitionProgress(Partition):
    start: int
    lag: int | None = None


class Progress(Struct):
    partitions: list[PartitionProgress]
    delivery_limit: int | None = None

    def by_log(self) -> dict[Log, ShareProgress]:
        return {
            each.log: ShareProgress(each.start, each.lag, self.delivery_limit) for each in self.partitions
        }


def record(number: int, log: Log, payload: bytes, keyed: Keyed | None) -> Sent:
    """A record to send. Raises struct.error for a key of more than 64 bits."""
    if keyed is None:
        return Sent(log[0], log[1], number, payload)
    key, value, headers = to_wire(payload, keyed)
    contents = [(name, each.encode() if isinstance(each, str) else each) for name, each in headers]
    return Sent(log[0], log[1], number, value, key, contents or None)


def offsets(positions: Mapping[Log, int]) -> list[Position]:
    return [Position(topic, partition, offset) for (topic, partition), offset in positions.items()]


def logs(of: Iterable[Log]) -> list[Partition]:
    return [Partition(topic, partition) for topic, partition in of]


def acknowledgements(records: Iterable[Acknowledgement]) -> list[dict[str, Any]]:
    return [
        {"topic": each.log[0], "partition": each.log[1], "offset": each.offset, "type": each.type}
        for each in records
    ]
