"""How far the readers of a run came, and whether one got nothing for so long that it may have stalled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from analyzers.history.run_progress import parse
from analyzers.history.surroundings import seconds
from analyzers.verdict.exercised import ReaderExercised

LONG = 5_000_000_000
"""ns by which a reader may stop getting records before another one, at least: a client may need as long to find a new
leader."""


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
    got: int | None
    """ns, the last record with an offset, outside of groups."""


def readers(
    polled: Iterable[Polled],
    *,
    following: Collection[int],
    acknowledged: Collection[tuple[str, int]],
    excluded: Collection[int | None],
    since: int,
    began: int | None,
) -> tuple[ReaderExercised, ...]:
    """The clients that only poll, outside of groups: the partitions of a member may be given to others.

    following  processes that poll every log until they are stopped. Of the others, only logs count of which they got
               records: nobody knows which logs they want.
    acknowledged  logs with acknowledged sends. All records of another one may belong to aborted transactions.
    excluded  processes that are no readers, or that a fault killed, so that others replaced them.
    since     ns: a reader that got no record of a log later is behind in it, unless it had read the log to its end.
              One that did is behind if it stopped long before another reader, which got further (`_stopped`). How
              many records it has still to read does not count: it may be slow.
    began     ns, of the run's first operation.
    """
    rows = list(polled)
    ends: dict[tuple[str, int], int] = {}
    for row in rows:
        if row.final:
            log = (row.topic, row.partition)
            ends[log] = max(ends.get(log, -1), _offset(row))
    readable = ends.keys() & set(acknowledged)
    by_process: dict[int, list[Polled]] = {process: [] for process in following if process not in excluded}
    for row in rows:
        if not (row.final or row.grouped or row.process in excluded):
            by_process.setdefault(row.process, []).append(row)
    others = [row for process in following for row in by_process.get(process, ())]
    return tuple(
        ReaderExercised(
            process=process,
            polls=sum(row.n for row in of_one),
            last=seconds(max((row.last for row in of_one if row.last is not None), default=None), began),
            behind=tuple(
                f"{topic}-{partition}"
                for topic, partition in sorted(
                    {
                        *_behind(of_one, readable if process in following else (), ends, since),
                        *(_stopped(of_one, others, since) if process in following else ()),
                    }
                )
            ),
        )
        for process, of_one in sorted(by_process.items())
    )


def _behind(
    rows: Collection[Polled],
    wanted: Collection[tuple[str, int]],
    ends: dict[tuple[str, int], int],
    since: int,
) -> set[tuple[str, int]]:
    logs = {*wanted, *((row.topic, row.partition) for row in rows)}
    for row in rows:
        log = (row.topic, row.partition)
        if (row.last is not None and row.last > since) or _offset(row) >= ends.get(log, -1):
            logs.discard(log)
    return logs


def _stopped(
    rows: Collection[Polled],
    others: Collection[Polled],
    since: int,
) -> Iterator[tuple[str, int]]:
    """The logs of which it got its last record long before another reader did, which got further: more than `LONG`,
    and than a third of the time from `since` on."""
    for log in {(row.topic, row.partition) for row in rows}:
        own = [row for row in rows if (row.topic, row.partition) == log]
        last = max((row.last for row in own if row.last is not None), default=None)
        top = max(_offset(row) for row in own)
        until = max(
            (
                row.last
                for row in others
                if (row.topic, row.partition) == log and row.last is not None and _offset(row) > top
            ),
            default=None,
        )
        if last is not None and until is not None and until - last > max(LONG, (until - since) / 3):
            yield log


def _offset(row: Polled) -> int:
    return -1 if row.top is None else row.top


class HarnessRow(Protocol):
    """An operation of the harness."""

    f: str
    invoked: int
    value: str | None


def has_idle_reader(polled: Iterable[Polled], operations: Sequence[HarnessRow], *, half: int | None) -> bool:
    """Whether a reader that the run stopped got nothing of a log for as long as `stalls` allows, or for longer.

    operations  those of the harness.
    half        of the load, in ns; None without sends.
    """
    clients = [(row.invoked, parse(row.value)) for row in operations if row.f == "worker"]
    phases = [
        row.invoked for row in operations if row.f == "phase" and parse(row.value).get("phase") == "final"
    ]
    ends: dict[Any, int] = {}
    limits: dict[Any, float] = {}
    for invoked, fields in clients:
        process = fields.get("process")
        if fields.get("event") == "stopped":
            ends[process] = min([ends.get(process, invoked), invoked, *phases])
        if fields.get("poll_limit") is not None:
            limits[process] = max(limits.get(process, 0), float(fields["poll_limit"]))
    last: dict[tuple[int, str, int], int] = {}
    for row in polled:
        if row.got is not None and not row.final:
            log = row.process, row.topic, row.partition
            last[log] = max(row.got, last.get(log, row.got))
    return any(
        ends[process] - got >= min([limits[process] * 1e9, *([] if half is None else [half])])
        for (process, _, _), got in last.items()
        if process in ends and process in limits
    )
