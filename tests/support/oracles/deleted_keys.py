"""Definitions of the anomalies of compacted topics in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.oracles.logs import lost_reads, with_final_state
from tests.support.oracles.removals import final_read, is_compacted, with_keys
from tests.support.oracles.rows import Oracle, Row, Tables, log, polls, sends, uncertain, without_aborted
from tests.support.random_histories.compaction import compacted_history


def risen_keys(tables: Tables) -> int:
    there = with_keys(without_aborted(tables["records"]))
    return sum(
        is_risen(one, mine, tables, there)
        for mine in passes(tables)
        for one in newest([r for r in there if r["f"] == "poll" and which(r) == which(mine[0])])
    )


def passes(tables: Tables) -> Iterator[list[Row]]:
    """What each process polled of a log in one assignment and generation."""
    mine = [p for p in polls(tables["records"]) if is_compacted(tables, p["topic"])]
    for one in {which(p) for p in mine}:
        yield [p for p in mine if which(p) == one]


def which(poll: Row) -> Any:
    return log(poll), poll["process"], poll["assignment"], poll.get("generation")


def newest(rows: list[Row]) -> list[Row]:
    """The last record of each key."""
    order = lambda r: (r["offset"], r["op"], r["value"], bool(r["tombstone"]))  # noqa: E731
    keys = {r["key"] for r in rows if r["key"] is not None}
    return [max((r for r in rows if r["key"] == key), key=order) for key in keys]


def is_risen(one: Row, mine: list[Row], tables: Tables, records: list[Row]) -> bool:
    of_key = [r for r in records if log(r) == log(one) and r["key"] == one["key"]]
    placed = [r for r in sends(of_key, "ok") + polls(of_key) if r["offset"] is not None]
    last = max(r["offset"] for r in placed)
    there = [r for r in placed if r["offset"] == last]
    read = {p["value"] for p in polls(of_key)}
    open_ones = [
        s for s in sends(of_key, "ok", "info")
        if (s["type"] == "info" or s["offset"] is None) and s["value"] not in read
    ]  # fmt: skip
    final = final_read(tables["operations"], one)
    isolated = any(p["committed"] for p in mine)
    return (
        any(r["tombstone"] for r in there)
        and not open_ones
        and final is not None
        and last >= final["start_offset"]
        and any(r["f"] == "send" or not uncertain([*sends(records), r], r) for r in there)
        and (not isolated or any(r["f"] == "send" or r["committed"] for r in there))
        and one["offset"] < last < max(p["offset"] for p in mine)
        and not one["tombstone"]
    )


RANDOM = compacted_history
ORACLES: dict[str, Oracle] = {
    "risen-key": risen_keys,
    "lost-write": with_final_state("lost-write"),
    "expired": with_final_state("expired"),
    "lost-read": lost_reads,
}
