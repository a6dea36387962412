"""Definitions of the anomalies of durability and origin in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.support.oracles.removals import final_read, is_replaced, may_be_removed, top
from tests.support.oracles.rows import OfRows, Oracle, Row, Tables, intact, log, of_tables, polls, sends
from tests.support.random_histories.logs import log_history


def final_state(send: Row, tables: Tables) -> str:
    """Where an acknowledged write is at the end: there, lost-write, expired or unseen."""
    records, offset = tables["records"], send["offset"]
    read = [p for p in intact(polls(records)) if (log(p), p["value"]) == (log(send), send["value"])]
    final = final_read(tables["operations"], send)
    decided = final is not None and must_be_there(send, final, records)
    if final is not None and decided and in_final(read, final):
        return "there"
    if read and not decided:
        return "there"
    if not decided and (offset is None or offset > top(records, send)):
        return "unseen"
    known = offset if offset is not None else min((p["offset"] for p in read), default=None)
    if may_be_removed(tables, send, known):
        return "there" if read or is_replaced(tables, send, known or 0) else "expired"
    return "lost-write"


def in_final(read: list[Row], final: Row) -> bool:
    mine = [p for p in read if p["final"] and p["type"] == "ok" and p["process"] == final["process"]]
    return any(p["invoked"] >= final["invoked"] for p in mine)


def with_final_state(name: str) -> Oracle:
    return lambda tables: sum(final_state(s, tables) == name for s in sends(tables["records"], "ok"))


def lost_reads(tables: Tables) -> int:
    """Values that a reader got and the final read did not, although it had to."""
    read = {(log(p), p["value"]): p for p in intact(polls(tables["records"]))}
    return sum(is_lost(value, of, tables) for (_, value), of in read.items())


def is_lost(value: int, of: Row, tables: Tables) -> bool:
    records, operations = tables["records"], tables["operations"]
    final = final_read(operations, of)
    if final is None:
        return False
    mine = [p for p in intact(polls(records)) if (log(p), p["value"]) == (log(of), value)]
    sent = [s for s in sends(records) if (log(s), s["value"]) == (log(of), value)]
    if in_final(mine, final) or any(s["type"] == "fail" for s in sent):
        return False
    if any(s["transaction"] is not None for s in sent) and not any(p["committed"] for p in mine):
        return False
    if any(s["type"] == "ok" and must_be_there(s, final, records) for s in sent):
        return False
    lowest = min(p["offset"] for p in mine)
    acked = [s["offset"] for s in sent if s["type"] == "ok" and s["offset"] is not None]
    if may_be_removed(tables, of, max(acked, default=lowest)):
        return False
    asked = [o["invoked"] for o in operations if o["f"] == "phase" and '"final"' in o["value"]]
    in_time = min(p["completed"] for p in mine) < min([final["invoked"], *asked])
    return (in_time and not is_isolated(final, records)) or lowest < final["end_offset"]


def must_be_there(send: Row, final: Row, records: list[Row]) -> bool:
    offset = send["offset"]
    in_time = send["completed"] < final["invoked"] and not is_isolated(final, records)
    return in_time or (offset is not None and offset < final["end_offset"])


def is_isolated(final: Row, records: list[Row]) -> bool:
    """A final read with read_committed ends at the last stable offset."""
    finals = [p for p in polls(records) if p["final"] and log(p) == log(final)]
    return any(p.get("committed") for p in finals) or "true" in (final.get("value") or "")


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
        seen = [served(r) for r in mine]
        epochs = {r["leader_epoch"] for r in mine if r.get("leader_epoch") is not None}
        values.append((min(seen), value, max(seen), epochs))
    return values


def served(row: Row) -> int:
    """When the broker had certainly answered."""
    return int(row["completed"] if row.get("fetched") is None else row["fetched"])


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
ORACLES = {
    "lost-write": with_final_state("lost-write"),
    "lost-read": lost_reads,
    "unseen": with_final_state("unseen"),
    "expired": with_final_state("expired"),
} | of_tables(
    {
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
