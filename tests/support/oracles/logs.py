"""Definitions of the anomalies of durability and origin in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.support.oracles.rows import OfRows, Row, intact, log, of_tables, polls, sends
from tests.support.random_histories.logs import log_history


def final_read(operations: list[Row], of: Row) -> Row | None:
    reads = [o for o in operations if o["f"] == "final-read" and o["type"] == "ok" and log(o) == log(of)]
    return max(reads, key=lambda o: (o["completed"], o["invoked"], o["process"]), default=None)


def final_state(send: Row, records: list[Row], operations: list[Row]) -> str:
    """Where an acknowledged write is at the end: there, lost-write, expired or unseen."""
    here = [p for p in polls(records) if log(p) == log(send)]
    read = [p for p in intact(here) if p["value"] == send["value"]]
    final, offset = final_read(operations, send), send["offset"]
    finals = [p for p in here if p["final"]]
    isolated = any(p.get("committed") for p in finals) or "true" in ((final or {}).get("value") or "")
    if final and (
        (send["completed"] <= final["invoked"] and not isolated)
        or (offset is not None and offset < final["end_offset"])
    ):
        for p in read:
            of_it = p["process"] == final["process"] and p["invoked"] >= final["invoked"]
            if p["final"] and p["type"] == "ok" and of_it:
                return "there"
        if offset is not None and offset < final["start_offset"]:
            return "there" if read else "expired"
        return "lost-write"
    if read:
        return "there"
    passed = offset is not None and any(p["offset"] >= offset for p in here)
    return "lost-write" if passed else "unseen"


def with_final_state(name: str) -> OfRows:
    def count(records: list[Row], operations: list[Row]) -> int:
        return sum(final_state(s, records, operations) == name for s in sends(records, "ok"))

    return count


def located(records: list[Row]) -> Iterator[tuple[Any, int, int]]:
    for r in sends(records, "ok") + intact(polls(records)):
        if r["offset"] is not None:
            yield log(r), r["offset"], r["value"]


def duplicate(records: list[Row], _: list[Row]) -> int:
    seen = set(located(records))
    values = {(where, v) for where, _, v in seen}
    return sum(sum((p, v) == one for p, _, v in seen) > 1 for one in values)


def conflicts(reused: bool) -> OfRows:
    """Offsets with several values: those where each value replaced the one before in a later epoch, or all others."""

    def count(records: list[Row], _: list[Row]) -> int:
        views = [r for r in sends(records, "ok") + intact(polls(records)) if r["offset"] is not None]
        return sum(
            len(values := times(views, where)) > 1
            and reused == all(follows(a, b) for a, b in pairwise(sorted(values)))
            for where in {(log(r), r["offset"]) for r in views}
        )

    return count


def times(views: list[Row], where: Any) -> list[tuple[int, int, int, set[int]]]:
    """One tuple per value at the offset: first seen, value, last seen, leader epochs."""
    here = [r for r in views if (log(r), r["offset"]) == where]
    values = []
    for value in {r["value"] for r in here}:
        mine = [r for r in here if r["value"] == value]
        seen = [r["completed"] for r in mine]
        epochs = {r["leader_epoch"] for r in mine if r.get("leader_epoch") is not None}
        values.append((min(seen), value, max(seen), epochs))
    return values


def follows(a: tuple[int, int, int, set[int]], b: tuple[int, int, int, set[int]]) -> bool:
    return a[2] < b[0] and bool(b[3]) and min(b[3]) > max(a[3], default=0)


def phantom(records: list[Row], _: list[Row]) -> int:
    written = {(log(s), s["value"]) for s in sends(records)}
    return len({(log(p), p["value"]) for p in intact(polls(records))} - written)


def aborted(records: list[Row], _: list[Row]) -> int:
    return sum(
        any(
            (log(p), p["value"]) == (log(s), s["value"]) and (s["transaction"] is None or p["committed"])
            for p in intact(polls(records))
        )
        for s in sends(records, "fail")
    )


def future(records: list[Row], _: list[Row]) -> int:
    early = lambda p, s: log(p) == log(s) and p["value"] == s["value"] and p["completed"] < s["invoked"]  # noqa: E731
    return sum(any(early(p, s) for p in intact(polls(records))) for s in sends(records))


def payload(*errors: str) -> OfRows:
    return lambda records, _: sum(p.get("error") in errors for p in polls(records))


RANDOM = log_history
ORACLES = of_tables(
    {
        "lost-write": with_final_state("lost-write"),
        "unseen": with_final_state("unseen"),
        "expired": with_final_state("expired"),
        "duplicate": duplicate,
        "inconsistent-offsets": conflicts(False),
        "offset-reuse": conflicts(True),
        "phantom-read": phantom,
        "G1a": aborted,
        "future-read": future,
        "foreign-record": payload("foreign", "misrouted"),
        "corrupt-record": payload("corrupt"),
    }
)
