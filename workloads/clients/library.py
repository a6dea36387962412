"""Client libraries by name. Roles get their clients here, so another library is one file and no role changes.

A library is a module in `workloads.clients.libraries` that binds ``LIBRARY``, a `Library`. The module's name is the
library's, with ``-`` for ``_``. `kafka_python` is the one to copy. ``java`` and ``java-3.7.2`` are Apache Kafka's own
client (`workloads.clients.java`). A name such as ``command:./client`` is a client process in any language
(`workloads.clients.command`, docs/client_protocol.md), and so is the Java client.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from workloads.clients import libraries
from workloads.clients.java import releases
from workloads.clients.outcome import Acks
from workloads.clients.protocol import Consumer, Log, Member, Producer, ShareConsumer, TransactionalProducer

if TYPE_CHECKING:
    # It loads kafka-python, and names of libraries are checked where no client is made yet.
    from workloads.clients.connection import Address


EXTRAS: Mapping[str, tuple[str, str]] = {"confluent-kafka": ("confluent_kafka", "confluent")}
"""Libraries that are installed only on request: the module that it needs, and our extra that installs it. Kept here,
because a library that is not installed cannot be loaded to ask it."""

PREFIX = "command:"
"""Of the name of a client library that is a command."""


class Library(Protocol):
    """A client library behind the protocols of `workloads.clients.protocol`."""

    def producer(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        acks: Acks,
        idempotence: bool,
        settings: Mapping[str, Any],
    ) -> Producer:
        """A producer for these topics; `settings` in the library's own names win over ours.

        Raises OSError when no broker answers in time: the caller tries again.
        """

    def transactional(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        transactional_id: str,
        timeout: float,
        settings: Mapping[str, Any],
    ) -> TransactionalProducer:
        """A producer for these topics that has claimed the transactional id.

        timeout  seconds after which the coordinator aborts a transaction that is not ended.
        Raises OSError when it cannot claim the id in time: the caller tries again.
        """

    def consumer(
        self,
        *,
        bootstrap: Iterable[Address],
        start: Mapping[Log, int],
        assignment: int = 0,
        committed: bool = False,
        rack: str | None = None,
    ) -> Consumer:
        """A consumer of these logs from these offsets; `assignment` is its first number of that name.

        committed  read with isolation.level=read_committed.
        rack       client.rack: brokers with a rack-aware replica.selector.class let it read from a replica there.
        """

    def check_reported_ends(self) -> None:
        """Raises ValueError if its consumers do not report the ends of logs, and names a library whose consumers do.
        See `Consumer.reported_end`."""

    def member(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> Member:
        """A member of a consumer group, which subscribes to these topics.

        settings  session_timeout, heartbeat_interval, max_poll_interval (seconds); assignor: "range", "roundrobin",
                  "sticky" or "cooperative-sticky"; protocol: "classic" or "consumer" (KIP-848); instance:
                  group.instance.id or None; auto_offset_reset: "earliest" or "latest"; committed: whether it reads
                  with isolation.level=read_committed; commits_in_poll: "auto": the library's automatic commits, once
                  per commit_interval (seconds); "revoked": of partitions that a rebalance takes away, before the
                  member gives them up. Both commit what `Member.allow_commits` permits. None or absent: neither.
        Raises ValueError for what the library cannot do, and OSError when no broker answers in time.
        """

    def check_member(self, settings: Mapping[str, Any]) -> None:
        """Raises ValueError for settings of `member` that the library cannot do, and names one that can."""

    def share(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        group: str,
        settings: Mapping[str, Any],
    ) -> ShareConsumer:
        """A consumer of a share group, which subscribes to these topics.

        settings  batch: records of one poll at most; lock: seconds for which a consumer has what it acquired;
                  auto_offset_reset: "earliest" or "latest", where the group starts in a partition.
        Raises ValueError where the library has none.
        """

    def check_producer_setting(self, name: str) -> None:
        """Raises ValueError saying why a user cannot set it."""

    def version(self) -> str:
        """Of the installed package, for environment.json."""


@cache
def library_names() -> tuple[str, ...]:
    python = (each.name.replace("_", "-") for each in pkgutil.iter_modules(libraries.__path__))
    return tuple(sorted((*python, releases.JAVA)))


def is_command(name: str) -> bool:
    """Whether its clients are processes that speak the client protocol."""
    return name.startswith(PREFIX) or releases.is_java(name)


def is_library(name: Any) -> bool:
    """Whether it is the name of a library, or of a command."""
    return isinstance(name, str) and (is_command(name) or name in library_names())


def versioned(name: str, version: str | None) -> str:
    """The name of that release of a library: ("java", "3.7.2") is "java-3.7.2". None: `name` itself says which.

    Raises ValueError for a library that has no releases to choose from.
    """
    if version is None:
        return name
    if name != releases.JAVA:
        raise ValueError(
            f"client_version={version!r} with library={name!r}: only library={releases.JAVA!r} has releases to "
            f"choose from"
        )
    try:
        return f"{name}-{releases.checked(version)}"
    except ValueError as error:
        raise ValueError(f"client_version={error}") from None


def check_library(name: str) -> None:
    """Raises ValueError for an unknown name, naming those there are, and for one that is not installed.

    Loads nothing, and starts no command.
    """
    if name.startswith(PREFIX):
        words(name)
        return
    if releases.is_java(name):
        try:
            releases.release_in(name)
        except ValueError as error:
            raise ValueError(f"client library {name!r}: {error}") from None
        return
    if name not in library_names():
        raise ValueError(
            f"no client library {name!r}; there are {', '.join(library_names())} and {PREFIX}..."
        )
    if name in EXTRAS:
        module, extra = EXTRAS[name]
        if importlib.util.find_spec(module) is None:
            raise ValueError(
                f"client library {name!r} is not installed; run pip install 'pytest-kafkacheck[{extra}]'"
            )


def library(name: str, *, log: Path | None = None) -> Library:
    """Raises ValueError as `check_library` does. log: for what a command writes to its standard error."""
    check_library(name)
    if is_command(name):
        return cast(
            Library,
            importlib.import_module("workloads.clients.command.library").CommandLibrary(name, log=log),
        )
    return cast(Library, importlib.import_module(f"{libraries.__name__}.{name.replace('-', '_')}").LIBRARY)


def words(name: str) -> list[str]:
    """The command that a library's name means. Raises ValueError for no command, and for a Java client that is not on
    this machine."""
    if releases.is_java(name):
        program = importlib.import_module("workloads.clients.java.program")
        return cast(list[str], program.command(releases.release_in(name)))
    try:
        found = shlex.split(name.removeprefix(PREFIX))
    except ValueError as error:
        raise ValueError(f"client library {name!r}: {error}; expected a command as in a shell") from None
    if not found:
        raise ValueError(f"client library {name!r}: expected a command, such as {PREFIX}java -jar client.jar")
    return found
