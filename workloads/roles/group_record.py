"""Records what the coordinator of an application's group has written of it: commits and owners, at their own time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from workloads.clients.connection import ask
from workloads.clients.group_history import Commit, Membership, group_history
from workloads.clients.group_log import TOPIC, partition_of
from workloads.clients.leaders import Leaders
from workloads.clients.log_batches import log_batches
from workloads.clients.protocol import Log
from workloads.roles.context import WorkerContext
from workloads.roles.group_watch import Sample, owner_name

LIMIT = 10.0
"""Seconds for each answer of a leader."""

TIMEOUT = 5.0
"""Seconds for one fetch."""

TOLERANCE = 50_000_000
"""ns by which the coordinator's clock may disagree with the samples."""

KIND = "group_log"
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
            run=context.run, process=context.process, kind=KIND, node=node, value=value, **row
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
    start, end = leaders.offset(log, at=since, limit=LIMIT), leaders.offset(log, limit=LIMIT)
    node = leaders.leader(log)
    if node is None:
        raise OSError(f"{TOPIC}-{log[1]} has no leader")
    if start < 0:
        return node, iter(())
    return node, log_batches(partial(ask, context.brokers[node], timeout=TIMEOUT), log, start, end)


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
