"""Whether a reader got nothing for so long that it may have stalled: a necessary condition of the fact `stalls`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from analyzers.history.run_progress import parse


class Polled(Protocol):
    """What one client polled from one log."""

    process: int
    topic: str
    partition: int
    final: bool
    """By final reads."""
    got: int | None
    """ns: the last record with an offset, outside of groups."""


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
