"""Rows of a history, selected in plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Oracle = Callable[[Tables], int]
"""Counts what a check has to find in a history."""

OfRows = Callable[[list[Row], list[Row]], int]
"""The same, from records and operations."""


def of_tables(oracles: Mapping[str, OfRows]) -> dict[str, Oracle]:
    """By anomaly."""
    return {name: partial(_count, oracle) for name, oracle in oracles.items()}


def _count(oracle: OfRows, tables: Tables) -> int:
    return oracle(tables["records"], tables["operations"])


def sends(records: list[Row], *types: str) -> list[Row]:
    return [r for r in records if r["f"] == "send" and (not types or r["type"] in types)]


def polls(records: list[Row], *types: str) -> list[Row]:
    return [r for r in records if r["f"] == "poll" and (not types or r["type"] in types)]


def intact(rows: list[Row]) -> list[Row]:
    return [r for r in rows if r.get("error") is None and r["value"] is not None]


def log(row: Row) -> tuple[Any, Any]:
    return row["topic"], row["partition"]


def without_aborted(records: list[Row]) -> list[Row]:
    """Without the records of aborted transactions, which are none to readers of committed records and to the
    cleaner."""
    aborted = {(log(r), r["value"]) for r in sends(records, "fail") if r["transaction"] is not None}
    return [r for r in records if (log(r), r["value"]) not in aborted]


def uncertain(records: list[Row], of: Row) -> bool:
    """Whether the record is of a transaction that was aborted or may have been, and no committed reader got it."""
    mine = [r for r in records if (log(r), r["value"]) == (log(of), of["value"])]
    return any(s["transaction"] is not None for s in sends(mine, "fail", "info")) and not any(
        p.get("committed") for p in intact(polls(mine))
    )


def session(row: Row) -> Any:
    return ("process", row["process"]) if row.get("session") is None else ("session", row["session"])


def done(records: list[Row], f: str) -> list[Row]:
    rows = sends(records, "ok") if f == "send" else polls(records)
    return [r for r in sorted(rows, key=lambda r: r["index"]) if r["offset"] is not None]


def is_withheld(tables: Tables, of: Row, value: int) -> bool:
    """Whether brokers may withhold a record of this log from a consumer whose row may have an `isolation`."""
    if of.get("isolation") == "read_uncommitted":
        return False
    rows = [r for r in tables["records"] if r["value"] == value and log(r) == log(of)]
    unsure = [r for r in sends(rows, "fail", "info") if r.get("transaction") is not None]
    return bool(unsure) and not any(r["final"] and r.get("committed") for r in intact(polls(rows)))


def reading(operations: list[Row], poll: Row) -> tuple[int, int, int | None]:
    """Equal for polls of a process and log between which nothing says that the process had to begin anew."""
    at = poll["invoked"] if poll["completed"] is None else poll["completed"]
    generation = poll.get("generation")
    members = [
        o
        for o in operations
        if o["f"] == "member" and o["type"] != "fail" and o["process"] == poll["process"]
    ]
    mine = [
        (o, json.loads(o["value"])["event"]) for o in members if o["topic"] is None or log(o) == log(poll)
    ]
    assigned = [o for o, event in mine if event == "assigned"]
    changes = [o for o, event in mine if event != "joined"]
    before = sum(o["invoked"] <= at for o in changes)
    since = sum(
        generation is not None and o["generation"] is not None and o["generation"] <= generation
        for o in assigned
    )
    return before, since, None if assigned else generation
