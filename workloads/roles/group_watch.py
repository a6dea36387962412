"""Watches the group of an application from outside: which instance has which partition, and how far it has come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from workloads.clients.connection import Address, ask
from workloads.clients.coordination import coordinator
from workloads.clients.group_members import GroupMember, owners, positions
from workloads.clients.protocol import Log
from workloads.clients.requests import Ask
from workloads.roles.context import WorkerContext

TIMEOUT = 1.0
"""Seconds for one answer."""

INTERVAL = 0.25
"""Seconds between two samples."""

KIND = "group"
"""Of the rows of the observations table. One for each partition whose owner or position is another than in the
sample before; the value is ``{"group": name, "owner": text or null, "member": id or null, "position": int or null}``.
`owner` is the instance, such as ``app:1``, or the id of a member that belongs to no instance, which begins with its
client.id. It is null while the group rebalances, and `position` until the group has committed one."""


class Sample(NamedTuple):
    """The watch saw another position of a log. Times in ns: `since`, when it had asked and seen the one before, and
    `time`, of the answer."""

    since: int
    time: int
    log: Log
    position: int


class GroupWatch:
    """Of the group of an application whose members read `source`.

    clients  the client ids of the instances, by name of the instance. A member belongs to the instance whose client
             id is contained in its own, or in its group.instance.id. All belong to the only instance, if there is
             one.
    """

    def __init__(
        self,
        context: WorkerContext,
        *,
        group: str,
        source: tuple[Log, ...],
        clients: Mapping[str, str],
        request: Callable[[Address], Ask] | None = None,
    ) -> None:
        self._context = context
        self._group, self._source, self._clients = group, source, clients
        self._request = request or (lambda address: lambda message: ask(address, message, timeout=TIMEOUT))
        self._coordinator: int | None = None
        self._last: dict[Log, tuple[Any, ...]] = {}
        self._asked = 0
        self.samples: list[Sample] = []

    def watch(self) -> None:
        """Sample until `context.stop` is set. Without an answer, nothing is recorded."""
        while not self._context.stop.wait(INTERVAL):
            self.sample()

    def sample(self) -> None:
        try:
            for row in self._changed():
                self._context.writer("observations").append(
                    run=self._context.run, process=self._context.process, kind=KIND, **row
                )
        except OSError:
            self._coordinator = None
            self._context.counts["unanswered"] += 1

    def _changed(self) -> Iterator[dict[str, Any]]:
        """Raises OSError."""
        if self._coordinator is None:
            self._coordinator = self._find()
        if (node := self._coordinator) is None:
            return
        coordinating = self._request(self._context.brokers[node])
        asked = time.monotonic_ns()
        members = owners(coordinating, self._group)
        at = positions(coordinating, self._group, self._source)
        now = time.monotonic_ns()
        if members is None or at is None:
            self._coordinator = None
            return
        since, self._asked = self._asked, asked
        for log in self._source:
            member = members.get(log)
            state = (None if member is None else owner_name(member, self._clients), member, at.get(log))
            before = self._last.get(log, (None, None, None))
            if state[2] is not None and state[2] != before[2]:
                self.samples.append(Sample(since, now, log, state[2]))
            if before != state:
                self._last[log] = state
                value = {
                    "group": self._group,
                    "owner": state[0],
                    "member": None if member is None else member.member,
                    "position": state[2],
                }
                topic, partition = log
                yield {
                    "time": now, "asked": asked, "node": node, "topic": topic, "partition": partition,
                    "value": json.dumps(value, sort_keys=True),
                }  # fmt: skip

    def _find(self) -> int | None:
        for address in self._context.brokers.values():
            try:
                found = coordinator(self._request(address), "group", self._group)
            except OSError:
                continue
            if found in self._context.brokers:
                return found
        return None


def owner_name(member: GroupMember, clients: Mapping[str, str]) -> str:
    """The instance to which a member belongs, or its id. clients: as `GroupWatch` has them."""
    if len(clients) == 1:
        return next(iter(clients))
    for instance, client in clients.items():
        if any(_names(text, client) for text in (member.client, member.instance or "")):
            return instance
    return member.member


def _names(text: str, client: str) -> bool:
    """Whether the client id is in the text, and not as the beginning of that of another instance: a-1 of a-12."""
    _, found, rest = text.partition(client)
    return bool(found) and not rest[:1].isdigit()
