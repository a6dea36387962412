"""A rule of the protocol, and what it gets: processes of the client, topics, and what the brokers have stored.

What is stored is read by another library.
"""

from __future__ import annotations

import queue
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from workloads.clients.command import settings
from workloads.clients.command.messages import Done, Hello, Refusal
from workloads.clients.command.process import ClientProcess
from workloads.clients.connection import Address
from workloads.clients.outcome import Acks

LIMIT = 30.0
"""Seconds of polls for what they have to give."""

COMPLETION_LIMIT = 30.0
"""Seconds for the completions of what was sent."""

GROUP_SETTINGS: Mapping[str, Any] = {
    "session_timeout": 6.0,
    "heartbeat_interval": 1.0,
    "max_poll_interval": 30.0,
    "assignor": "range",
}


class Stored(NamedTuple):
    """A record as the brokers have it."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class Brokers(Protocol):
    """The cluster of the test. A topic whose name contains "small" refuses records of more than 1,000 bytes."""

    @property
    def bootstrap(self) -> tuple[Address, ...]: ...

    @property
    def release(self) -> tuple[int, int]:
        """The lowest of the brokers, such as (4, 1); (0, 0) if it is not known."""

    def create(self, topic: str, partitions: int) -> None: ...

    def stored(self, topic: str, partition: int) -> list[Stored]:
        """The readable records, transactions that were not committed left out."""


class Started:
    """A process of the client, and what it completed."""

    def __init__(self, process: ClientProcess, hello: Hello) -> None:
        self.process, self.hello = process, hello
        self.completed: list[Done] = []
        self._sent: set[int] = set()
        """Numbers of records that are not completed."""
        self._arrived: queue.SimpleQueue[list[Done]] = queue.SimpleQueue()
        process.listen(lambda done, _: self._arrived.put(done))

    def call(self, do: str, **fields: Any) -> dict[str, Any]:
        """Raises Refusal, and ClientFailure."""
        try:
            return self.process.call(do, **fields)
        finally:
            self.take()

    def error(self, do: str, **fields: Any) -> Refusal:
        """The error of a request that has to fail."""
        try:
            answer = self.call(do, **fields)
        except Refusal as error:
            return error
        raise Broken(f"it answered {do!r} with {answer}; expected an error")

    def send(self, records: Iterable[Mapping[str, Any]]) -> None:
        sent = list(records)
        self._sent |= {each["n"] for each in sent}
        self.process.tell("send", records=sent)

    def take(self) -> None:
        """Add the completions that have arrived to `completed`."""
        while not self._arrived.empty():
            for each in self._arrived.get():
                expect(
                    each.number in self._sent,
                    f"it completed record {each.number}, which was not sent or is completed already",
                )
                self._sent.discard(each.number)
                self.completed.append(each)

    def await_completions(self, count: int) -> list[Done]:
        """All completions, of which there have to be this many."""
        deadline = time.monotonic() + COMPLETION_LIMIT
        while len(self.completed) < count and time.monotonic() < deadline:
            self.take()
            self.process.check()
            time.sleep(0.01)
        expect(
            len(self.completed) == count,
            f"{len(self.completed)} of {count} records were completed within {COMPLETION_LIMIT:.0f} s",
        )
        return self.completed

    def poll_until(
        self, is_enough: Callable[[list[dict[str, Any]], dict[str, Any]], bool], what: str
    ) -> list[dict[str, Any]]:
        """Records of as many polls as it takes. is_enough: of all records, and the last answer."""
        records: list[dict[str, Any]] = []
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            answer = self.call("poll", timeout_ms=200, limit=0.2)
            records += single(answer)
            if is_enough(records, answer):
                return records
        raise Broken(f"within {LIMIT:.0f} s its polls did not give {what}; they gave {len(records)} records")


class Bench:
    """Everything that a rule needs. A context manager: leaving it ends the processes of one rule."""

    def __init__(self, command: Sequence[str], brokers: Brokers, *, run: str, log: Path) -> None:
        self.brokers, self.run = brokers, run
        self._command, self._log = command, log
        self._started: list[ClientProcess] = []
        self._names = 0

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.end()
        self._started = []

    def start(self) -> Started:
        process = ClientProcess(self._command, log=self._log)
        self._started.append(process)
        return Started(process, process.hello())

    def name(self) -> str:
        """A new name of a group or a transactional id."""
        self._names += 1
        return f"client-test-{self.run}-{self._names}"

    def topic(self, partitions: int, *, small: bool = False) -> str:
        """A new topic; its name ends with the number of its partitions."""
        self._names += 1
        name = f"client-test-{self.run}-{self._names}-{'small-' if small else ''}{partitions}"
        self.brokers.create(name, partitions)
        return name

    def producer(self, topic: str, *, acks: Acks = "all", one: Started | None = None) -> Started:
        started = one or self.start()
        idempotence = acks == "all" and "idempotence" in started.hello.capabilities
        config = settings.producer(self.brokers.bootstrap, acks=acks, idempotence=idempotence, settings={})
        opened(started, role="producer", config=config, topics=[topic])
        return started

    def transactional(self, topic: str, id: str) -> Started:
        started = self.start()
        config = {
            **settings.producer(self.brokers.bootstrap, acks="all", idempotence=True, settings={}),
            "transactional.id": id,
            "transaction.timeout.ms": "30000",
        }
        opened(started, role="transactional", config=config, topics=[topic])
        return started

    def consumer(
        self, topic: str, start: Mapping[int, int], *, committed: bool = False, one: Started | None = None
    ) -> Started:
        started = one or self.start()
        config = settings.consumer(self.brokers.bootstrap, committed=committed, rack=None)
        at = [{"topic": topic, "partition": number, "offset": offset} for number, offset in start.items()]
        opened(started, role="consumer", config=config, start=at)
        return started

    def member(self, topic: str, group: str, protocol: str) -> Started:
        started = self.start()
        config = {
            **settings.member(group, {**GROUP_SETTINGS, "protocol": protocol, "committed": False}),
            **settings.access(self.brokers.bootstrap),
        }
        opened(started, role="member", config=config, topics=[topic])
        return started

    def share(self, topic: str, group: str) -> Started:
        started = self.start()
        config, group_config = settings.share(group, {"batch": 10, "lock": 15.0})
        config |= settings.access(self.brokers.bootstrap)
        opened(
            started, role="share", config=config, group_config=group_config, topics=[topic], timeout_ms=5000
        )
        return started

    def write(self, topic: str, partition: int, count: int) -> list[str]:
        """Write so many records by the client itself; returns their values as the protocol has them."""
        one = self.producer(topic)
        sent = records(topic, [partition] * count)
        one.send(sent)
        for each in one.await_completions(count):
            expect(each.error is None, f"a record could not be written: {each.error}")
        one.call("close", timeout_ms=5000, limit=5.0)
        return [each["value"] for each in sent]


def opened(one: Started, **fields: Any) -> None:
    """Open a client, also where the brokers need a moment for a new topic."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            one.call("open", limit=6.0, **fields)
            return
        except Refusal as error:
            if not error.retriable or time.monotonic() > deadline:
                raise Broken(f"it could not open a {fields['role']}: {error}") from None


def single(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of an answer to a poll, each with its own entry of each column."""
    columns = {"offsets": "offset", "values": "value", "timestamps": "timestamp", "keys": "key",
               "headers": "headers", "deliveries": "deliveries"}  # fmt: skip
    return [
        {**{name: batch.get(name) for name in ("topic", "partition", "epoch")},
         **{name: batch[column][place] for column, name in columns.items() if batch.get(column) is not None}}
        for batch in answer["records"]
        for place in range(len(batch["offsets"]))
    ]  # fmt: skip


def records(topic: str, partitions: Iterable[int], *, size: int = 0) -> list[dict[str, Any]]:
    """Records with different values, numbered from 1."""
    return [
        {"n": n, "topic": topic, "partition": partition, "value": encoded(f"{n}".ljust(size, "."))}
        for n, partition in enumerate(partitions, 1)
    ]


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def decoded(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """name   on the command line.
    says   what the client has to do, in one clause.
    needs  capabilities without which the rule does not apply.
    release  the first release of the brokers to which it applies.
    test   raises Broken, Refusal or ClientFailure.
    """

    name: str
    says: str
    test: Callable[[Bench], None]
    needs: Collection[str] = ()
    release: tuple[int, int] = (0, 0)


class Broken(Exception):
    """The text says what the client did, and what was expected."""


def expect(is_kept: bool, text: str) -> None:
    """Raises Broken with the text unless the rule is kept."""
    if not is_kept:
        raise Broken(text)
