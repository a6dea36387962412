"""What may have removed a record from the beginning of its log, in plain Python."""

from __future__ import annotations

import json
from math import inf
from typing import Any

from tests.support.oracles.rows import Row, Tables, intact, log, polls, sends


def final_read(operations: list[Row], of: Row) -> Row | None:
    reads = [o for o in operations if o["f"] == "final-read" and o["type"] == "ok" and log(o) == log(of)]
    return max(reads, key=lambda o: (o["completed"], o["invoked"], o["process"]), default=None)


def settings_keep_all(tables: Tables, topic: str) -> bool | None:
    """Whether the recorded settings let every record of the run stay; None where they were not recorded."""
    rows = [o for o in tables["operations"] if o["f"] == "topic" and o["topic"] == topic]
    of_creations = [o for o in rows if json.loads(o["value"])["event"] in ("created", "recreated")]
    configs = [json.loads(o["value"])["config"] for o in of_creations]
    if not configs or not all(configs):
        return None
    ended = max(r["completed"] if r["completed"] is not None else r["invoked"] for r in tables["records"])
    lasted = (ended - min(o["invoked"] for o in of_creations)) / 1e6
    return all(
        "compact" not in config["cleanup.policy"]
        and int(config["retention.bytes"]) < 0
        and (int(config["retention.ms"]) < 0 or int(config["retention.ms"]) >= lasted)
        for config in configs
    )


def is_compacted(operations: list[Row], topic: str) -> bool:
    rows = [o for o in operations if o["f"] == "topic" and o["topic"] == topic]
    return any("compact" in json.loads(o["value"])["config"].get("cleanup.policy", "") for o in rows)


def forgets_tombstones(tables: Tables, topic: str) -> bool:
    """Whether a tombstone may be gone before the end of the run."""
    rows = [o for o in tables["operations"] if o["f"] == "topic" and o["topic"] == topic]
    stay = min(int(json.loads(o["value"])["config"].get("delete.retention.ms", 0)) for o in rows)
    ended = max(r["completed"] if r["completed"] is not None else r["invoked"] for r in tables["records"])
    return bool(stay * 1e6 < ended - min(o["invoked"] for o in rows))


def is_replaced(tables: Tables, of: Row, offset: int) -> bool:
    """Whether a record of the same key lies behind it in a compacted topic, or a tombstone that may be gone did,
    or it is one itself."""
    records = tables["records"]
    mine = [
        r for r in sends(records) + intact(polls(records)) if (log(r), r["value"]) == (log(of), of["value"])
    ]
    key = max((r["key"] for r in mine if r.get("key") is not None), default=None)
    placed = [
        r for r in sends(records, "ok") + polls(records) if log(r) == log(of) and r["offset"] is not None
    ]
    if key is None or not is_compacted(tables["operations"], of["topic"]):
        return False
    forgotten = [
        r for r in sends(records, "ok", "info") + polls(records)
        if log(r) == log(of) and r.get("key") == key and r.get("tombstone")
    ] if forgets_tombstones(tables, of["topic"]) else []  # fmt: skip
    return any(r.get("key") == key and r["offset"] > offset for r in placed) or any(
        r["offset"] is None or r["offset"] >= offset for r in forgotten
    )


def may_be_removed(tables: Tables, of: Row, offset: int | None) -> bool:
    """Whether a record at the offset, which may be unknown, may lie below an allowed log start, or be replaced."""
    lowest = 0 if offset is None else offset
    return is_replaced(tables, of, lowest) or lowest < removed_to(tables, of)


def removed_to(tables: Tables, of: Row) -> float:
    """Below which offset of the log records may have been removed from its beginning."""
    values = [json.loads(o["value"]) for o in tables["operations"] if o["process"] == -1]
    faults = [v["evidence"] for v in values if v.get("removes_records") and v["stage"] == "inject"]
    keep = settings_keep_all(tables, of["topic"])
    is_anywhere = any("start" not in evidence for evidence in faults)
    asked = [
        e.get("before", e.get("start")) for e in faults if (e.get("topic"), e.get("partition")) == log(of)
    ]
    deletions = [o for o in tables["operations"] if o["f"] == "deletion" and log(o) == log(of)]
    refused = {o["op"] for o in deletions if o["type"] == "fail"}
    asked += [o["end_offset"] for o in deletions if o["op"] not in refused]
    allowed = max([0, *asked]) if keep and not is_anywhere else inf
    final = final_read(tables["operations"], of)
    if final is not None:
        return min(allowed, final["start_offset"])
    if keep is False or is_anywhere:
        return allowed
    seen: list[Any] = [o.get("log_start") for o in tables["observations"] if log(o) == log(of)]
    return min(allowed, max([0, *asked, *(start for start in seen if start is not None)]))


def top(records: list[Row], of: Row) -> int:
    return max((p["offset"] for p in polls(records) if log(p) == log(of)), default=-1)
