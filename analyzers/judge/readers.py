"""How far the readers of a run came."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from analyzers.history.relative_time import seconds
from analyzers.verdict.exercised import ReaderExercised


class Polled(Protocol):
    """What one client polled from one log."""

    process: int
    topic: str
    partition: int
    n: int
    """Records."""
    top: int | None
    """The highest offset."""
    last: int | None
    """ns, the last completion."""
    final: bool
    """By final reads."""
    grouped: bool
    """As a member of a group."""


def readers(
    polled: Iterable[Polled], *, excluded: Collection[int | None], since: int, began: int | None
) -> tuple[ReaderExercised, ...]:
    """The clients that only poll, outside of groups: the partitions of a member may be given to others.

    excluded  processes that are no readers, or that a fault killed, so that others replaced them.
    since     ns: a reader that got a record of a log later is not behind in it, however many it has still to read.
    began     ns, of the run's first operation.
    """
    rows = list(polled)
    ends: dict[tuple[str, int], int] = {}
    for row in rows:
        if row.final:
            log = (row.topic, row.partition)
            ends[log] = max(ends.get(log, -1), _offset(row))
    by_process: dict[int, list[Polled]] = {}
    for row in rows:
        if not (row.final or row.grouped or row.process in excluded):
            by_process.setdefault(row.process, []).append(row)
    return tuple(
        ReaderExercised(
            process=process,
            polls=sum(row.n for row in of_one),
            last=seconds(max((row.last for row in of_one if row.last is not None), default=None), began),
            behind=tuple(f"{topic}-{partition}" for topic, partition in _behind(of_one, ends, since)),
        )
        for process, of_one in sorted(by_process.items())
    )


def _behind(rows: Collection[Polled], ends: dict[tuple[str, int], int], since: int) -> list[tuple[str, int]]:
    logs = {(row.topic, row.partition) for row in rows}
    for row in rows:
        log = (row.topic, row.partition)
        if (row.last is not None and row.last > since) or _offset(row) >= ends.get(log, -1):
            logs.discard(log)
    return sorted(logs)


def _offset(row: Polled) -> int:
    return -1 if row.top is None else row.top
