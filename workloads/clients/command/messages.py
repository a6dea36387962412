"""The form of what is sent to a client, and of what it answers; its first line says what it is able to do."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from workloads.clients.protocol import (
    Acknowledgement,
    Delivered,
    Log,
    LostPosition,
    Polled,
    ReportedEnd,
    ShareProgress,
)
from workloads.keys import Keyed, from_wire, to_wire

T = TypeVar("T")


VERSION = 1
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


class Refusal(Exception):
    """A client answered a request with an error.

    name   Kafka's own name of the error, such as NOT_ENOUGH_REPLICAS, or another in this form.
    sent   False: the client knows that no request with it was sent. None: it does not say.
    attempts   how many requests with it were sent; None if it does not say.
    retriable  whether it may succeed later.
    aborted    of the end of a transaction: whether the client knows that the transaction was aborted.
    message    in words.
    """

    def __init__(
        self,
        name: str,
        *,
        message: str = "",
        sent: bool | None = None,
        attempts: int | None = None,
        retriable: bool = False,
        aborted: bool = False,
    ) -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name, self.message = name, message
        self.sent, self.attempts, self.retriable, self.aborted = sent, attempts, retriable, aborted


class Done(NamedTuple):
    """The completion of a record. offset: None where the broker gave none."""

    number: int
    offset: int | None
    error: Refusal | None


class Moved(NamedTuple):
    """A partition that a member got or gave up. at: ns; None without a clock."""

    event: Any
    log: Log
    start: int | None
    generation: int | None
    at: int | None


def record(number: int, log: Log, payload: bytes, keyed: Keyed | None) -> dict[str, Any]:
    """A record to send. Raises struct.error for a key of more than 64 bits."""
    key, value, headers = to_wire(payload, keyed)
    message: dict[str, Any] = {"n": number, "topic": log[0], "partition": log[1], "value": _text(value)}
    if key is not None:
        message["key"] = _text(key)
    if headers:
        message["headers"] = [
            [name, _text(content.encode() if isinstance(content, str) else content)]
            for name, content in headers
        ]
    return message


def offsets(positions: Mapping[Log, int]) -> list[dict[str, Any]]:
    return [
        {"topic": topic, "partition": partition, "offset": offset}
        for (topic, partition), offset in positions.items()
    ]


def logs(of: Iterable[Log]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in of]


def acknowledgements(records: Iterable[Acknowledgement]) -> list[dict[str, Any]]:
    return [
        {"topic": each.log[0], "partition": each.log[1], "offset": each.offset, "type": each.type}
        for each in records
    ]


# The following functions raise KeyError, TypeError or ValueError for what has not the form of the protocol.


def parse_refusal(error: Any) -> Refusal:
    return Refusal(
        _of(str, error["name"]),
        message=_of(str, error.get("message", "")),
        sent=_optional(bool, error.get("sent")),
        attempts=_optional(int, error.get("attempts")),
        retriable=_of(bool, error.get("retriable", False)),
        aborted=_of(bool, error.get("aborted", False)),
    )


def parse_done(entry: Any) -> Done:
    error, offset = entry.get("error"), entry.get("offset")
    return Done(
        _of(int, entry["n"]),
        None if offset is None else _of(int, offset),
        None if error is None else parse_refusal(error),
    )


def parse_records(answer: Mapping[str, Any]) -> list[Polled]:
    return [_polled(each) for each in answer["records"]]


def parse_positions(answer: Mapping[str, Any]) -> dict[Log, int]:
    return {_log(each): _of(int, each["offset"]) for each in answer["positions"]}


def parse_lost(answer: Mapping[str, Any]) -> list[LostPosition]:
    return [
        LostPosition(_log(each), _of(int, each["position"]), _optional(int, each.get("divergence")))
        for each in answer.get("lost", ())
    ]


def parse_ends(answer: Mapping[str, Any]) -> dict[Log, ReportedEnd]:
    return {
        _log(each): ReportedEnd(
            _of(int, each["node"]), asked=_of(int, each["asked"]), offset=_of(int, each["offset"])
        )
        for each in answer.get("ends", ())
    }


def parse_moves(answer: Mapping[str, Any]) -> list[Moved]:
    moves = [
        Moved(
            each["event"],
            _log(each),
            _optional(int, each.get("start")),
            _optional(int, each.get("generation")),
            _optional(int, each.get("at")),
        )
        for each in answer.get("events", ())
    ]
    for move in moves:
        if move.event not in ("assigned", "revoked", "lost"):
            raise ValueError(f"event {move.event!r}")
    return moves


def parse_deliveries(answer: Mapping[str, Any]) -> list[Delivered]:
    polled = [(_polled(each), _optional(int, each.get("deliveries"))) for each in answer["records"]]
    return [Delivered(each.log, each.offset, each.payload, count) for each, count in polled]


def parse_outcomes(answer: Mapping[str, Any]) -> dict[Log, Refusal | None]:
    """By partition: the error of its acknowledgements, or None."""
    return {
        _log(each): None if each.get("error") is None else parse_refusal(each["error"])
        for each in answer["partitions"]
    }


def parse_progress(answer: Mapping[str, Any]) -> dict[Log, ShareProgress]:
    limit = _optional(int, answer.get("delivery_limit"))
    return {
        _log(each): ShareProgress(_of(int, each["start"]), _optional(int, each.get("lag")), limit)
        for each in answer["partitions"]
    }


def parse_number(answer: Mapping[str, Any], name: str) -> int | None:
    return _optional(int, answer.get(name))


def parse_text(answer: Mapping[str, Any], name: str) -> str:
    return _of(str, answer.get(name) or "")


def _polled(each: Mapping[str, Any]) -> Polled:
    epoch, payload, keyed = each.get("epoch"), _bytes(each["value"]), None
    if each.get("key") is not None or each.get("headers"):
        headers = [(_of(str, name), _bytes(content)) for name, content in each.get("headers") or ()]
        payload, keyed = from_wire(_bytes(each.get("key")), payload, headers)
    return Polled(
        _log(each),
        _of(int, each["offset"]),
        -1 if epoch is None else _of(int, epoch),
        payload,
        None,
        keyed,
        _optional(int, each.get("timestamp")),
    )


def _log(each: Mapping[str, Any]) -> Log:
    return _of(str, each["topic"]), _of(int, each["partition"])


def _of(kind: Callable[..., T], value: Any) -> T:
    # Not isinstance: True is an int.
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of the type {getattr(kind, '__name__', kind)}")
    found: T = value
    return found


def _optional(kind: Callable[..., T], value: Any) -> T | None:
    return None if value is None else _of(kind, value)


def _text(content: bytes | None) -> str | None:
    return None if content is None else b2a_base64(content, newline=False).decode()


def _bytes(text: Any) -> bytes | None:
    return None if text is None else a2b_base64(_of(str, text), strict_mode=True)
