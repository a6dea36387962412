"""Columns of records as a worker writes them, and segments that are sealed when the test says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workloads.history.writer import Writer


def record(**columns: Any) -> dict[str, Any]:
    """The columns of a record; the rest of them have defaults."""
    return {"run": "r", "topic": "t", "partition": 0, "type": "ok", "assignment": 1} | columns


def poll(
    index: int, offset: int, value: int, *, process: int = 5, at: int = 1, **columns: Any
) -> dict[str, Any]:
    """The columns of a record that was polled at time `at`."""
    result = {"invoked": at, "completed": at + 1, "offset": offset, "value": value, "op": 1000 + index}
    return record(f="poll", index=index, process=process, **result, **columns)


class ManualClock:
    """A clock that the test moves. Seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def sealing_writer(home: Path, clock: ManualClock, *, process: int = 5, table: str = "records") -> Writer:
    return Writer(home / "history", table, process, clock=clock)


def seal(writer: Writer, clock: ManualClock) -> None:
    """Let the open segment become old enough to be sealed."""
    writer.flush()
    clock.now += 21
    writer.flush()
