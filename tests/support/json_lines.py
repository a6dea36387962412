"""Histories as JSON lines that tests write, by any program's means: no code of the project takes part."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

HEADER = {"kafkacheck_history": 1, "unit": "ms"}

Row = dict[str, Any]


def write_lines(path: Path, *rows: Row | str, header: Row | str | None = None) -> Path:
    """A file of these lines. Text is written as it is."""
    every = [HEADER if header is None else header, *rows]
    text = "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in every)
    if path.name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def send(value: Any, at: int, offset: int | None = None, **more: Any) -> Row:
    """A send that took 1 ms, acknowledged if it has an offset."""
    row = {"f": "send", "process": "writer", "topic": "t", "partition": 0, "value": value}
    row |= {"invoked": at, "completed": at + 1, "type": "info" if offset is None else "ok"}
    return row | ({} if offset is None else {"offset": offset}) | more


def poll(at: int, *values: Any, first: int = 0, **more: Any) -> Row:
    """A poll that took 1 ms and returned these values, from this offset on."""
    records = [{"offset": first + place, "value": value} for place, value in enumerate(values)]
    row = {"f": "poll", "process": "reader", "topic": "t", "partition": 0, "type": "ok"}
    return row | {"invoked": at, "completed": at + 1, "records": records} | more


def final_read(at: int, *values: Any, end: int | None = None) -> list[Row]:
    """The two lines of a final read that found these values, and ended at `end`; default: behind them."""
    of_last = {"process": "last", "topic": "t", "partition": 0, "type": "ok"}
    read = {
        "f": "final-read",
        "invoked": at,
        "completed": at + 9,
        "end_offset": len(values) if end is None else end,
    }
    return [of_last | read, *([poll(at + 1, *values, process="last", final=True)] if values else [])]
