"""A process of our Java client, which a claim asks by the requests of docs/client_protocol.md."""

from __future__ import annotations

import tempfile
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from pytest_kafkacheck.claims.exercising import NotExercised
from pytest_kafkacheck.setup.java_clients import provide
from workloads.clients.command import settings
from workloads.clients.command.messages import Done, Refusal
from workloads.clients.command.process import ClientProcess
from workloads.clients.connection import Address
from workloads.clients.java import program
from workloads.clients.java.releases import JAVA
from workloads.clients.protocol import Log

OPEN_LIMIT = 20.0
"""Seconds in which a client gets its first answer of a broker."""

AT_ONCE = 1 << 20
"""Bytes of the values of one request, which the client holds twice more while it decodes them."""


class JavaClient:
    """A context manager: leaving it ends the process.

    release    of kafka-clients.
    completed  by the number of the record, which `send` returns.
    """

    def __init__(self, release: str, bootstrap: Iterable[Address]) -> None:
        provide([f"{JAVA}-{release}"])
        try:
            command = program.command(release)
        except program.NoJavaClient as error:
            raise NotExercised(str(error)) from None
        self.completed: dict[int, Done] = {}
        self._bootstrap = tuple(bootstrap)
        self._numbers = 0
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkacheck-"))
            self._process = ClientProcess(command, log=Path(folder) / "client.log")
            stack.callback(self._process.end)
            self._process.hello()
            self._process.listen(self._take)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open_producer(self, *topics: str, idempotence: bool = True, **config: object) -> None:
        """config: in Kafka's names, with ``_`` for the dots. Raises NotExercised where no broker answers."""
        given = {name.replace("_", "."): value for name, value in config.items()}
        deadline = time.monotonic() + OPEN_LIMIT
        while True:
            try:
                self._process.call(
                    "open",
                    role="transactional" if "transactional.id" in given else "producer",
                    config=settings.producer(
                        self._bootstrap, acks="all", idempotence=idempotence, settings=given
                    ),
                    topics=topics,
                    limit=OPEN_LIMIT,
                )
                return
            except Refusal as error:
                # On a busy machine the first metadata may take longer than max.block.ms, which is 3 s.
                if not error.retriable or time.monotonic() > deadline:
                    raise NotExercised(f"the Java client could not open a producer: {error}") from None

    def send(self, records: Iterable[tuple[Log, str]]) -> Sequence[int]:
        """The numbers of the records, in their order. They are sent without a wait in between."""
        numbers: list[int] = []
        waiting: list[Mapping[str, Any]] = []
        size = 0
        for (topic, partition), value in records:
            self._numbers += 1
            numbers.append(self._numbers)
            waiting.append(
                {
                    "n": self._numbers,
                    "topic": topic,
                    "partition": partition,
                    "value": b64encode(value.encode()).decode(),
                }
            )
            size += len(value)
            if size >= AT_ONCE:
                self._process.tell("send", records=waiting)
                waiting, size = [], 0
        if waiting:
            self._process.tell("send", records=waiting)
        return numbers

    def errors(self, numbers: Iterable[int]) -> list[str]:
        """Kafka's names of the errors with which these records ended, "" for one that is acknowledged."""
        return [done.error.name if done.error else "" for done in map(self.completed.get, numbers) if done]

    def are_completed(self, numbers: Iterable[int]) -> bool:
        return self.completed.keys() >= set(numbers)

    def call(self, do: str, *, limit: float, **fields: Any) -> str:
        """Ask, and return Kafka's name of the error, or "" without one. limit: seconds."""
        try:
            self._process.call(do, limit=limit, timeout_ms=round(limit * 1000), **fields)
        except Refusal as error:
            return error.name
        return ""

    def kill(self) -> None:
        self._process.kill()

    def _take(self, done: list[Done], _: int) -> None:
        """On the thread that reads what the process writes."""
        self.completed.update((each.number, each) for each in done)
