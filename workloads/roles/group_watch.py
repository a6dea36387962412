"""The group of an application, from outside: which instance has which partition, and how far it has come.

The watch samples it while it works. Afterwards, what the coordinator of the group has written of it is recorded as
well: commits and owners, at their own time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from workloads.clients.connection import Address, ask
from workloads.clients.coordination import coordinator
from workloads.clients.described_groups import GroupMember, owners, positions
from workloads.clients.group_log import TOPIC, Commit, Membership, group_history, partition_of
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log
from workloads.clients.requests import Ask, log_batches
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


ANSWER_LIMIT = 10.0
"""Seconds for each answer of a leader."""

FETCH_TIMEOUT = 5.0
"""Seconds for one fetch."""

TOLERANCE = 50_000_000
"""ns by which the coordinator's clock may disagree with the samples."""

LOG_KIND = "group_log"
"""Of the rows of the observations table. One for each commit of the group, and one for each partition whose owner
changed; `time` is that of the coordinator's record. The value of a commit is ``{"group": name, "position": int,
"transaction": id of the producer or null}``; that of an owner ``{"group": name, "owner": text or null, "member": id
or null, "generation": int, "session_timeout": ms or null}``, `owner` as in the rows of
`workloads.roles.group_watch`. Absent where the topic cannot be read, where the coordinator's clock is another than
this host's and, of owners, for a group of KIP-848: then the samples of the watch are all that is known."""


def record_group_log(
    context: WorkerContext,
    *,
    group: str,
    source: Sequence[Log],
    clients: Mapping[str, str],
    since: int,
    samples: Sequence[Sample],
) -> None:
    """since: ns on the clock of the history, before the group began. samples: of the watch."""
    epoch = time.time_ns() - time.monotonic_ns()
    try:
        node, batches = _batches(context, group, (since + epoch) // 1_000_000)
        rows = [*_rows(group_history(batches, group), group, frozenset(source), clients, epoch)]
    except OSError:
        context.counts["unread_group_logs"] += 1
        return
    if not agrees(rows, samples):
        context.counts["group_logs_of_another_clock"] += 1
        return
    for row in rows:
        value = json.dumps(row.pop("value"), sort_keys=True)
        context.writer("observations").append(
            run=context.run, process=context.process, kind=LOG_KIND, node=node, value=value, **row
        )


def _batches(context: WorkerContext, group: str, since: int) -> tuple[int, Iterator[Any]]:
    """The broker that leads the group's partition of the topic, and the batches from a time on, ms since the epoch.
    Raises OSError."""
    leaders = Leaders(context.brokers, [TOPIC], stop=context.gone)
    leaders.refresh()
    count = sum(topic == TOPIC for topic, _ in leaders.logs)
    if not count:
        raise OSError(f"no broker describes {TOPIC}")
    log = TOPIC, partition_of(group, count)
    start, end = leaders.offset(log, at=since, limit=ANSWER_LIMIT), leaders.offset(log, limit=ANSWER_LIMIT)
    node = leaders.leader(log)
    if node is None:
        raise OSError(f"{TOPIC}-{log[1]} has no leader")
    if start < 0:
        return node, iter(())
    return node, log_batches(partial(ask, context.brokers[node], timeout=FETCH_TIMEOUT), log, start, end)


def _rows(
    found: Iterable[Commit | Membership],
    group: str,
    source: frozenset[Log],
    clients: Mapping[str, str],
    epoch: int,
) -> Iterator[dict[str, Any]]:
    last: dict[Log, str | None] = {}
    for each in found:
        at = each.time * 1_000_000 - epoch
        if isinstance(each, Commit):
            if each.log in source:
                yield _row(at, each.log, group, position=each.position, transaction=each.producer)
            continue
        for log in sorted(source):
            member = each.owners.get(log)
            name = None if member is None else member.member
            if last.get(log) != name:
                last[log] = name
                yield _row(
                    at, log, group,
                    owner=None if member is None else owner_name(member, clients), member=name,
                    generation=each.generation, session_timeout=each.session_timeout,
                )  # fmt: skip


def _row(at: int, log: Log, group: str, **value: Any) -> dict[str, Any]:
    return {"time": at, "topic": log[0], "partition": log[1], "value": {"group": group, **value}}


def agrees(rows: Iterable[Mapping[str, Any]], samples: Iterable[Sample]) -> bool:
    """Whether the coordinator's clock is this host's: each position that the watch saw had been committed by then
    and, most of them, not before the watch had last seen another one. Replicas may hold a commit up."""
    committed: dict[tuple[Log, int], list[int]] = {}
    for row in rows:
        if "position" in row["value"]:
            log = row["topic"], row["partition"]
            committed.setdefault((log, row["value"]["position"]), []).append(row["time"])
    early = count = 0
    for each in samples:
        times = committed.get((each.log, each.position), [])
        if not any(at <= each.time + TOLERANCE for at in times):
            return False
        count += 1
        early += not any(at >= each.since - TOLERANCE for at in times)
    return 2 * early <= count
