"""Definitions of the anomalies of order in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.support.oracles.removals import is_compacted, removed_to
from tests.support.oracles.rows import (
    OfRows,
    Oracle,
    Row,
    Tables,
    done,
    intact,
    log,
    of_tables,
    polls,
    reading,
    sends,
)
from tests.support.random_histories.logs import log_history


def grouped(rows: list[Row], *names: str) -> Iterator[list[Row]]:
    key = lambda r: (r["process"], log(r), r["assignment"], *(r.get(name) for name in names))  # noqa: E731
    for one in {key(r) for r in rows}:
        yield [r for r in rows if key(r) == one]


def same_operation(a: Row, b: Row) -> bool:
    name = "op" if a["f"] == "poll" else "transaction"
    return a.get(name) is not None and a.get(name) == b.get(name)


def steps(records: list[Row], operations: list[Row], f: str) -> Iterator[tuple[Row, Row, bool]]:
    """Adjacent records of one process, log and assignment, and whether both belong to one operation."""
    for mine in grouped(done(records, f)):
        for a, b in pairwise(mine):
            if a.get("generation") == b.get("generation"):
                yield a, b, same_operation(a, b)
            elif reading(operations, a) == reading(operations, b):
                yield a, b, False


def key_regressions(records: list[Row], f: str) -> Iterator[tuple[Row, Row, bool]]:
    """Adjacent records of one key that went back, although the second is not below the record directly before it."""
    rows = done(records, f)
    before = {id(b): a for mine in grouped(rows, "generation") for a, b in pairwise(mine)}
    for mine in grouped([r for r in rows if r.get("key") is not None], "generation", "key"):
        for a, b in pairwise(mine):
            if b["offset"] <= a["offset"] and b["offset"] > before[id(b)]["offset"]:
                yield a, b, same_operation(a, b)


def nonmonotonic(f: str, within: bool) -> OfRows:
    def count(records: list[Row], operations: list[Row]) -> int:
        back = [s for s in steps(records, operations, f) if s[1]["offset"] <= s[0]["offset"]]
        return sum(s[2] == within for s in [*back, *key_regressions(records, f)])

    return count


def between(a: Row, b: Row, rows: list[Row]) -> bool:
    offsets = (r["offset"] for r in rows if log(r) == log(a) and r["offset"] is not None)
    return any(a["offset"] < offset < b["offset"] for offset in offsets)


def is_acknowledged(poll: Row, records: list[Row]) -> bool:
    """Whether the record was acknowledged at its offset, in a transaction with its commit."""
    return poll.get("error") is None and any(
        (log(s), s["offset"], s["value"]) == (log(poll), poll["offset"], poll["value"])
        for s in sends(records, "ok")
    )


def poll_skip(within: bool) -> Oracle:
    def count(tables: Tables) -> int:
        records, operations = tables["records"], tables["operations"]
        return sum(
            inside == within
            and not is_compacted(tables, b["topic"])
            and between(
                a,
                b,
                [
                    p
                    for p in polls(records)
                    if (p["committed"] or not b["committed"] or is_acknowledged(p, records))
                    and p["offset"] >= removed_to(tables, p)
                ],
            )
            for a, b, inside in steps(records, operations, "poll")
        )

    return count


def send_skip(tables: Tables) -> int:
    records, operations = tables["records"], tables["operations"]
    known = polls(records) + sends(records, "ok")
    return sum(
        inside and not is_compacted(tables, b["topic"]) and between(a, b, known)
        for a, b, inside in steps(records, operations, "send")
    )


def realtime(records: list[Row], _: list[Row]) -> int:
    acked = done(records, "send")
    return sum(
        any(log(a) == log(b) and a["completed"] < b["invoked"] and a["offset"] > b["offset"] for a in acked)
        for b in acked
    )


def overtaken_unknown(records: list[Row], _: list[Row]) -> int:
    def lowest(s: Row) -> Any:
        return min(
            (p["offset"] for p in intact(polls(records)) if (log(p), p["value"]) == (log(s), s["value"])),
            default=None,
        )

    return sum(
        (at := lowest(s)) is not None
        and any(
            log(a) == log(s) and a["completed"] < s["invoked"] and a["offset"] > at
            for a in done(records, "send")
        )
        for s in sends(records, "info")
    )


RANDOM = log_history
ORACLES = {
    "poll-skip": poll_skip(False),
    "int-poll-skip": poll_skip(True),
    "int-send-skip": send_skip,
} | of_tables(
    {
        "nonmonotonic-poll": nonmonotonic("poll", False),
        "int-nonmonotonic-poll": nonmonotonic("poll", True),
        "nonmonotonic-send": nonmonotonic("send", False),
        "int-nonmonotonic-send": nonmonotonic("send", True),
        "realtime-order": realtime,
        "overtaken-write": overtaken_unknown,
    }
)
