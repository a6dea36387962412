"""Rows as a process records them, and segments sealed by a clock of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workloads.history.schema import RECORDS
from workloads.history.writer import Writer


def record(**more: Any) -> tuple[Any, ...]:
    row = {"run": "r", "topic": "t", "partition": 0, "type": "ok", "assignment": 1} | more
    return tuple(row.get(name) for name in RECORDS.names)


def poll(
    index: int, offset: int, value: int, *, process: int = 5, at: int = 1, **more: Any
) -> tuple[Any, ...]:
    told = {"invoked": at, "completed": at + 1, "offset": offset, "value": value, "op": 1000 + index}
    return record(f="poll", index=index, process=process, **told, **more)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def sealing(home: Path, clock: Clock, *, process: int = 5, table: str = "records") -> Writer:
    return Writer(home / "history", table, process, clock=clock)


def seal(writer: Writer, clock: Clock) -> None:
    writer.flush()
    clock.now += 21
    writer.flush()
