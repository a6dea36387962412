"""Histories as processes record them, row by row, cut into windows as live judging sees them."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from workloads.history.live.window import Carried
from workloads.history.schema import HARNESS, NEMESIS, TABLES

Row = dict[str, Any]
Tables = dict[str, pa.Table]


def as_recorded(story: Any) -> Any:
    """The same history with the rows of each process in the order of time. A session is one process, and keeps its
    isolation level, as real ones do."""
    careful: dict[int, bool] = {}
    for row in story.records:
        row["session"] = None if row.get("session") is None else 100 + row["process"]
        if row["f"] == "poll":
            row["committed"] = careful.setdefault(row["process"], bool(row.get("committed")))
    for row in story.operations:
        row["session"] = None if row.get("session") is None else 100 + row["process"]
        if row["f"] == "read":
            value = json.loads(row.get("value") or "{}") | {"committed": careful.get(row["process"], False)}
            row["value"] = json.dumps(value)
    story.records.sort(key=lambda row: row["invoked"] if row["f"] == "send" else _time(row))
    story.operations.sort(key=_time)
    return story


def deletes_records(story: Any) -> bool:
    """Whether a fault or an administrator was to delete records."""
    return any(
        row["f"] == "deletion" or '"removes_records": true' in (row.get("value") or "")
        for row in story.operations
    )


def windows(story: Any, run: str, *, number: int, seed: str) -> list[Tables]:
    """The history in so many windows, at cuts that are different for each process and table."""
    return [*joined(cut(story, run, number=number, seed=seed))]


def joined(new: list[Tables]) -> Iterator[Tables]:
    carried = Carried()
    for each in new:
        yield carried.join(each["records"], each["operations"])


def cut(story: Any, run: str, *, number: int, seed: str) -> list[Tables]:
    """The new rows of each window."""
    chance = random.Random(seed)
    rows = story.rows(run)
    parts: dict[str, list[list[Row]]] = {
        name: [[] for _ in range(number)] for name in ("records", "operations")
    }
    for name, streams in (
        ("records", _records(rows["records"])),
        ("operations", _operations(rows["operations"])),
    ):
        for _, stream in sorted(streams.items()):
            ends = sorted(chance.randint(0, len(stream)) for _ in range(number - 1))
            for part, (begin, end) in zip(
                parts[name], zip([0, *ends], [*ends, len(stream)], strict=True), strict=True
            ):
                part += stream[begin:end]
    # What changes topics, or removes records, is known at once.
    lasting = [row for row in rows["operations"] if _is_lasting(row)]
    parts["operations"] = [
        [*(lasting if at == 0 else []), *(row for row in part if not _is_lasting(row))]
        for at, part in enumerate(parts["operations"])
    ]
    return [
        {name: pa.Table.from_pylist(parts[name][at], schema=TABLES[name]) for name in parts}
        for at in range(number)
    ]


def cut_at(
    story: Any, run: str, borders: Sequence[int], *, number: int, late: int | None = None
) -> list[Tables]:
    """The new rows of so many windows, each of which ends at a time.

    late  a process whose rows are known a window later.
    """
    rows = story.rows(run)
    streams = {"records": _records(rows["records"]), "operations": _operations(rows["operations"])}
    parts: list[dict[str, list[Row]]] = [{name: [] for name in streams} for _ in range(number)]
    for name, of_processes in streams.items():
        for process, stream in sorted(of_processes.items()):
            for row in stream:
                at = row["invoked"] if row["completed"] is None else row["completed"]
                window = sum(at > border for border in borders) + (process == late)
                parts[window][name].append(row)
    return [
        {name: pa.Table.from_pylist(part[name], schema=TABLES[name]) for name in streams} for part in parts
    ]


def segment_rows(rows: list[Row]) -> list[Row]:
    """Of the table of records, as segments have them."""
    return [row for _, stream in sorted(_records(rows).items()) for row in stream]


def _records(rows: list[Row]) -> dict[int, list[Row]]:
    """By process, what it records: invocations first, completions when they come."""
    found: defaultdict[int, list[tuple[int, int, int, Row]]] = defaultdict(list)
    for row in rows:
        plain = row | {"previous": None, "within": None}
        of = found[row["process"]]
        if row["f"] == "send":
            begun = plain | {"type": "invoke", "completed": None, "offset": None}
            of.append((row["invoked"], row["index"], 0, begun))
            if row["completed"] is None:
                continue
        of.append((_time(row), row["index"], 1, plain))
    return {
        process: [row for *_, row in sorted(each, key=lambda one: one[:3])] for process, each in found.items()
    }


def _operations(rows: list[Row]) -> dict[int, list[Row]]:
    found: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["process"]].append(row)
    return found


def _is_lasting(row: Row) -> bool:
    is_control = row["process"] in (HARNESS, NEMESIS) and row["f"] in ("topic", "recreate-topic")
    return is_control or row["f"] == "deletion" or '"removes_records": true' in (row.get("value") or "")


def _time(row: Row) -> int:
    return int(row["invoked"] if row["completed"] is None else row["completed"])
