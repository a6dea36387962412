"""What may have removed a record from the beginning of its log, in plain Python."""

from __future__ import annotations

import json
from math import inf
from typing import Any

from tests.support.oracles.rows import Row, Tables, intact, log, polls, sends, without_aborted

LAG, STAY = "min.compaction.lag.ms", "delete.retention.ms"


def final_read(operations: list[Row], of: Row) -> Row | None:
    reads = [o for o in operations if o["f"] == "final-read" and o["type"] == "ok" and log(o) == log(of)]
    return max(reads, key=lambda o: (o["completed"], o["invoked"], o["process"]), default=None)


def changes(tables: Tables, topic: str, *partitions: int) -> list[dict[str, Any]]:
    """The settings that administrators may have set before the last final read of these partitions, by default of
    all, ended, and those that brokers reported."""
    ended = [
        o["completed"]
        for o in tables["operations"]
        if o["f"] == "final-read" and o["type"] == "ok" and o["topic"] == topic
        and (not partitions or o["partition"] in partitions)
    ]  # fmt: skip
    altered = [
        json.loads(o["value"])
        for o in tables["operations"]
        if o["f"] == "alter" and o["type"] != "fail" and o["topic"] == topic
        and o["invoked"] <= max(ended, default=inf)
    ]  # fmt: skip
    found = [
        ({} if a.get("retention_ms") is None else {"retention.ms": str(a["retention_ms"])})
        | a.get("config", {})
        for a in altered
    ]
    samples = [o for o in tables["observations"] if o["kind"] == "settings" and o["topic"] == topic]
    return found + [json.loads(o["value"]) for o in samples]


def creations(operations: list[Row], topic: str) -> list[dict[str, Any]]:
    rows = [o for o in operations if o["f"] == "topic" and o["topic"] == topic]
    return [json.loads(o["value"])["config"] for o in rows]


def lasted(tables: Tables, topic: str) -> float:
    """ms, from the creation of the topic to the run's last record."""
    rows = [o for o in tables["operations"] if o["f"] == "topic" and o["topic"] == topic]
    ended = max(r["completed"] if r["completed"] is not None else r["invoked"] for r in tables["records"])
    return float(ended - min(o["invoked"] for o in rows)) / 1e6


def settings_keep_all(tables: Tables, topic: str, partition: int) -> bool | None:
    """Whether the recorded settings let every record of the run stay; None where they were not recorded."""
    rows = [o for o in tables["operations"] if o["f"] == "topic" and o["topic"] == topic]
    of_creations = [o for o in rows if json.loads(o["value"])["event"] in ("created", "recreated")]
    configs = [json.loads(o["value"])["config"] for o in of_creations]
    if not configs or not all(configs):
        return None
    every = configs + changes(tables, topic, partition)
    names = ("cleanup.policy", "retention.bytes", "retention.ms")
    if any(config.get(name, "") is None for config in every for name in names):
        return False
    return all(
        "compact" not in config.get("cleanup.policy", "")
        and int(config.get("retention.bytes", -1)) < 0
        and (
            int(config.get("retention.ms", -1)) < 0
            or int(config["retention.ms"]) >= lasted(tables, topic)
        )
        for config in every
    )  # fmt: skip


def is_compacted(tables: Tables, topic: str) -> bool:
    """Whether compaction may have removed a record as young as those of the run."""
    every = creations(tables["operations"], topic) + changes(tables, topic)
    if not any("compact" in (config.get("cleanup.policy") or "") for config in every):
        return False
    lags = [config[LAG] for config in every if LAG in config]
    stated = [config for config in creations(tables["operations"], topic) if LAG in config]
    unstated = [c for c in every if "compact" in (c.get("cleanup.policy") or "") and LAG not in c]
    if not lags or None in lags or (unstated and not stated):
        return True
    return int(min(lags, key=int)) < lasted(tables, topic)


def forgets_tombstones(tables: Tables, topic: str) -> bool:
    """Whether a tombstone may be gone before the end of the run."""
    times = [config.get(STAY, 0) for config in creations(tables["operations"], topic)]
    times += [config[STAY] for config in changes(tables, topic) if STAY in config]
    return min(int(each or 0) for each in times) < lasted(tables, topic)


def is_replaced(tables: Tables, of: Row, offset: int) -> bool:
    """Whether a record of the same key lies behind it in a compacted topic, or a tombstone that may be gone did,
    or it is one itself."""
    mine = [
        r for r in sends(tables["records"]) + intact(polls(tables["records"]))
        if (log(r), r["value"]) == (log(of), of["value"])
    ]  # fmt: skip
    records = with_keys(without_aborted(tables["records"]))
    key = max((r["key"] for r in mine if r.get("key") is not None), default=None)
    placed = [
        r for r in sends(records, "ok") + polls(records) if log(r) == log(of) and r["offset"] is not None
    ]
    if key is None or not is_compacted(tables, of["topic"]):
        return False
    forgotten = [
        r for r in sends(records, "ok", "info") + polls(records)
        if log(r) == log(of) and r.get("key") == key and r.get("tombstone")
    ] if forgets_tombstones(tables, of["topic"]) else []  # fmt: skip
    return any(r.get("key") == key and r["offset"] > offset for r in placed) or any(
        place(r, records) >= offset for r in forgotten
    )


def with_keys(records: list[Row]) -> list[Row]:
    """A poll whose key was not recorded has that of the send."""
    keys = {
        (log(r), r["value"]): r["key"] for r in records if r.get("key") is not None and r["value"] is not None
    }
    return [r | {"key": keys.get((log(r), r["value"]))} if r.get("key") is None else r for r in records]


def place(of: Row, records: list[Row]) -> float:
    """The highest offset at which the record may be."""
    same = [p for p in polls(records) if (log(p), p["value"]) == (log(of), of["value"]) and of["f"] == "send"]
    known = [r["offset"] for r in [of, *same] if r["offset"] is not None]
    return max(known, default=inf)


def may_be_removed(tables: Tables, of: Row, offset: int | None) -> bool:
    """Whether a record at the offset, which may be unknown, may lie below an allowed log start, or be replaced."""
    lowest = 0 if offset is None else offset
    return is_replaced(tables, of, lowest) or lowest < removed_to(tables, of)


def removed_to(tables: Tables, of: Row) -> float:
    """Below which offset of the log records may have been removed from its beginning."""
    values = [json.loads(o["value"]) for o in tables["operations"] if o["process"] == -1]
    faults = [v["evidence"] for v in values if v.get("removes_records") and v["stage"] == "inject"]
    keep = settings_keep_all(tables, *log(of))
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
