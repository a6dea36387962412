"""A client library that is a command: ``library="command:./client"``, or Apache Kafka's Java client."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from workloads.clients.command import settings as names
from workloads.clients.command.consumer import CommandConsumer
from workloads.clients.command.member import CommandMember
from workloads.clients.command.messages import Hello, Refusal
from workloads.clients.command.process import ClientFailure, ClientProcess
from workloads.clients.command.producer import CommandProducer, CommandTransactional
from workloads.clients.command.share import CommandShare
from workloads.clients.connection import Address
from workloads.clients.java.releases import is_java
from workloads.clients.library import check_library, words
from workloads.clients.outcome import Acks
from workloads.clients.protocol import Consumer, Log, Member, Producer, ShareConsumer, TransactionalProducer

T = TypeVar("T")


@cache
def introduce(name: str) -> Hello:
    """What the client says about itself; starts it once. Raises ClientFailure, and ValueError as `words`."""
    with tempfile.TemporaryDirectory(prefix="kafkacheck-") as folder:
        process = ClientProcess(words(name), log=Path(folder) / "client.log", name=_shown(name))
        try:
            return process.hello()
        finally:
            process.end()


def _shown(name: str) -> str | None:
    """Of a client in messages: the command of a Java client is long, and its user has not written it."""
    return name if is_java(name) else None


class CommandLibrary:
    """A `workloads.clients.library.Library`. A process has one client at a time; one whose client was closed gets the
    next one, because a virtual machine takes half a second of processor time to start.

    log  for the standard error of all processes; None: nobody reads it.
    """

    def __init__(self, name: str, *, log: Path | None = None) -> None:
        check_library(name)
        self._name = name
        self._log = log
        self._started: list[ClientProcess] = []
        self._idle: list[ClientProcess] = []
        self._hello: Hello | None = None

    def producer(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        acks: Acks,
        idempotence: bool,
        settings: Mapping[str, Any],
    ) -> Producer:
        bootstrap = tuple(bootstrap)
        config = names.producer(bootstrap, acks=acks, idempotence=idempotence, settings=settings)
        return self._opened(
            {"producer", *({"idempotence"} if idempotence else ())},
            lambda process: CommandProducer(
                process, self._release, bootstrap=bootstrap, topics=topics, acks=acks, config=config
            ),
        )

    def transactional(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        transactional_id: str,
        timeout: float,
        settings: Mapping[str, Any],
    ) -> TransactionalProducer:
        return self._opened(
            {"transactions"},
            lambda process: CommandTransactional(
                process, self._release, bootstrap=bootstrap, topics=topics, timeout=timeout,
                transactional_id=transactional_id, config=settings,
            ),
        )  # fmt: skip

    def consumer(
        self,
        *,
        bootstrap: Iterable[Address],
        start: Mapping[Log, int],
        assignment: int = 0,
        committed: bool = False,
        rack: str | None = None,
    ) -> Consumer:
        config = names.consumer(bootstrap, committed=committed, rack=rack)
        needs = {"consumer", *({"read-committed"} if committed else ()), *({"rack"} if rack else ())}
        return self._opened(
            needs,
            lambda process: CommandConsumer(
                process, self._release, config=config, start=start, assignment=assignment
            ),
        )

    def member(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> Member:
        process = self._take(names.member_needs(settings))
        assert self._hello is not None
        self._release(process)
        return CommandMember(
            partial(self._take, names.member_needs(settings)),
            self._release,
            config={**names.member(group, settings), **names.access(bootstrap)},
            topics=topics,
            has_clock=self._hello.has_clock,
        )

    def share(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> ShareConsumer:
        self._release(self._take({"share-groups"}))
        config, group_config = names.share(group, settings)
        return CommandShare(
            partial(self._take, {"share-groups"}),
            self._release,
            config={**config, **names.access(bootstrap)},
            group_config=group_config,
            topics=topics,
        )

    def check_reported_ends(self) -> None:
        """The client states whether they do, by a capability."""

    def check_member(self, settings: Mapping[str, Any]) -> None:
        names.member("", settings)

    def check_producer_setting(self, name: str) -> None:
        names.check_setting(name)

    def version(self) -> str:
        return str(introduce(self._name))

    def close(self) -> None:
        """End all processes."""
        started, self._started, self._idle = self._started, [], []
        for process in started:
            process.end()

    def _opened(self, needs: Collection[str], open: Callable[[ClientProcess], T]) -> T:
        """Raises ConnectionError where the client cannot reach the brokers, and ClientFailure."""
        process = self._take(needs)
        try:
            return open(process)
        except Refusal as error:
            if error.name == "INVALID_CONFIG":
                raise process.fail(f"refuses its settings: {error}") from None
            process.listen(None)
            self._release(process)
            raise ConnectionError(f"the client could not connect: {error}") from error

    def _take(self, needs: Collection[str]) -> ClientProcess:
        while self._idle:
            process = self._idle.pop()
            process.check()
            return process
        log = self._log or Path(tempfile.gettempdir()) / "kafkacheck-client.log"
        process = ClientProcess(words(self._name), log=log, name=_shown(self._name))
        self._started.append(process)
        self._hello = process.hello()
        if missing := self._hello.missing(needs):
            process.end()
            raise ClientFailure(f"client {process} ({self._hello}) has no {', '.join(missing)}")
        return process

    def _release(self, process: ClientProcess) -> None:
        self._idle.append(process)
