"""Definitions of the session guarantees in plain Python."""

from __future__ import annotations

from typing import Any

from tests.support.oracles.removals import is_compacted, removed_to
from tests.support.oracles.rows import (
    OfRows,
    Row,
    Tables,
    done,
    intact,
    log,
    of_tables,
    polls,
    sends,
    session,
)
from tests.support.random_histories.logs import log_history


def behind_own(f: str) -> OfRows:
    """Acknowledged sends at or below an offset that their session had polled, or had acknowledged, before."""

    def count(records: list[Row], _: list[Row]) -> int:
        readers = {session(p) for p in polls(records)}
        return sum(
            (session(b) in readers or session(b)[0] == "session")
            and any(
                (session(a), log(a)) == (session(b), log(b))
                and a["completed"] < b["invoked"]
                and a["offset"] >= b["offset"]
                for a in done(records, f)
            )
            for b in done(records, "send")
        )

    return count


def ok_reads(operations: list[Row]) -> list[Row]:
    return [o for o in operations if o["f"] == "read" and o["type"] == "ok"]


def isolated(records: list[Row], operations: list[Row], of: Any) -> bool:
    """Whether a session with a completed read ever reads with read_committed."""
    reads = [r for r in ok_reads(operations) if session(r) == of and "true" in (r.get("value") or "")]
    return bool(reads) or any(session(p) == of and p.get("committed") for p in polls(records))


def is_committed(records: list[Row], operations: list[Row], read: Row) -> bool:
    """Whether a read ended at the last stable offset, as far as anything says so."""
    reads = [r for r in ok_reads(operations) if session(r) == session(read)]
    if any("true" in (r.get("value") or "") for r in reads):
        return "true" in (read.get("value") or "")
    return any(p.get("committed") for p in polls(records) if session(p) == session(read))


def read_your_writes(tables: Tables) -> int:
    records, operations = tables["records"], tables["operations"]
    broken = 0
    for s in sends(records, "ok"):
        later = [
            r
            for r in ok_reads(operations)
            if session(r) == session(s)
            and log(r) == log(s)
            and r["invoked"] > s["completed"]
            and not is_compacted(tables, s["topic"])
            and (s["offset"] or 0) >= removed_to(tables, s)
        ]
        if later:
            read = min(later, key=lambda r: (r["invoked"], r["completed"]))
            may_be_hidden = isolated(records, operations, session(s)) and not (
                s["offset"] is not None and s["offset"] < read["end_offset"]
            )
            broken += not may_be_hidden and not any(
                session(p) == session(s)
                and log(p) == log(s)
                and p["value"] == s["value"]
                and p["completed"] <= read["completed"]
                for p in intact(polls(records))
            )
    return broken


def session_nonmonotonic(records: list[Row], operations: list[Row]) -> int:
    broken = 0
    for read in ok_reads(operations):
        careful = is_committed(records, operations, read)
        same = lambda row, read=read: session(row) == session(read) and log(row) == log(read)  # noqa: E731
        before = [
            p["offset"] + 1
            for p in polls(records)
            if same(p) and p["completed"] < read["invoked"] and (p.get("committed") or not careful)
        ]
        before += [
            r["end_offset"]
            for r in ok_reads(operations)
            if r is not read
            and same(r)
            and r["completed"] < read["invoked"]
            and (is_committed(records, operations, r) or not careful)
        ]
        broken += any(end > read["end_offset"] for end in before)
    return broken


RANDOM = log_history
ORACLES = {"read-your-writes": read_your_writes} | of_tables(
    {
        "monotonic-reads": session_nonmonotonic,
        "monotonic-writes": behind_own("send"),
        "writes-follow-reads": behind_own("poll"),
    }
)
