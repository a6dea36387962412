"""Definitions of what groups leave out of added partitions, and of commits above the end, in plain Python."""

from __future__ import annotations

import json
from typing import Any

from tests.support.oracles.groups import assigned, commits, group_log, polled_by
from tests.support.oracles.queues import began, of_kind
from tests.support.oracles.rows import Oracle, Row, Tables, intact, log, polls, sends
from tests.support.oracles.transactions import silent
from tests.support.random_histories.added_partitions import added_history


def details(tables: Tables, *fs: str) -> list[Row]:
    return [o | {"about": json.loads(o.get("value") or "{}")} for o in tables["operations"] if o["f"] in fs]


def written(tables: Tables) -> list[tuple[Row, int]]:
    """Acknowledged sends, each with the lowest offset at which its record is known to lie."""
    found = []
    for send in sends(tables["records"], "ok"):
        same = [r for r in (*sends(tables["records"]), *intact(polls(tables["records"])))
                if (log(r), r["value"]) == (log(send), send["value"]) and r["offset"] is not None]  # fmt: skip
        if same:
            found.append((send, min(r["offset"] for r in same)))
    return found


def is_added(tables: Tables, of: tuple[Any, Any]) -> bool:
    topic, partition = of
    sizes = [o["about"].get("partitions") for o in details(tables, "topic") if o["topic"] == topic]
    sizes += [o["about"]["evidence"].get("before") for o in details(tables, "add-partitions")
              if o["about"]["evidence"].get("topic") == topic]  # fmt: skip
    known = [size for size in sizes if size is not None]
    if known:
        return bool(partition >= min(known))
    changes = [o["invoked"] for o in details(tables, "alter") if o["topic"] == topic and o["type"] != "fail"
               and o["about"]["change"] == "partitions"]  # fmt: skip
    begun = [s["invoked"] for s in sends(tables["records"]) if log(s) == of]
    return bool(changes) and min(begun) >= min(changes)


def start_of(tables: Tables, of: tuple[Any, Any]) -> int:
    reads = [o for o in tables["operations"] if o["f"] == "final-read" and o["type"] == "ok" and log(o) == of]
    return int(max(reads, key=lambda o: (o["completed"], o["invoked"]))["start_offset"]) if reads else 0


def skipped(tables: Tables) -> int:
    broken = 0
    for group, of in {group_log(a) for a in assigned(tables)}:
        mine = [a for a in assigned(tables) if group_log(a) == (group, of)]
        first = min(
            mine, key=lambda a: (a["completed"], -1 if a["start_offset"] is None else a["start_offset"])
        )
        topic = [a["completed"] for a in assigned(tables) if a["group"] == group and a["topic"] == of[0]]
        tried = [c["invoked"] for c in commits(tables) if group_log(c) == (group, of) and c["type"] != "fail"]
        got = {p["offset"] for p in polled_by(tables, group) if log(p) == of}
        position = min(got, default=None) if first["start_offset"] is None else first["start_offset"]
        if (
            first.get("auto_offset_reset", "latest") != "latest"
            or position is None
            or not is_added(tables, of)
        ):
            continue
        if any(at <= first["completed"] for at in tried):
            continue
        broken += sum(
            log(send) == of
            and start_of(tables, of) <= offset < position
            and send["invoked"] > min(topic)
            and offset not in got
            for send, offset in written(tables)
        )
    return broken


def left_out(tables: Tables) -> int:
    broken = 0
    for queue in of_kind(tables, "queue"):
        of, start = log(queue), began(tables, queue)
        got = [d["completed"] for d in details(tables, "delivery")
               if (d["group"], d["topic"], d["type"]) == (queue["group"], of[0], "ok")]  # fmt: skip
        if got and is_added(tables, of):
            broken += sum(
                log(send) == of and start_of(tables, of) <= offset < start and send["invoked"] > min(got)
                for send, offset in written(tables)
            )
    return broken


def above_the_end(tables: Tables) -> int:
    broken = 0
    undecided = any(o["type"] != "ok" for o in details(tables, "txn"))
    for commit in commits(tables):
        of = log(commit)
        reads = [o for o in details(tables, "final-read") if o["type"] == "ok" and log(o) == of]
        if commit["type"] != "ok" or commit["reset"] or not reads:
            continue
        last = max(reads, key=lambda o: (o["completed"], o["invoked"]))
        isolated = any(log(p) == of and p["final"] and p["committed"] for p in polls(tables["records"]))
        if commit["invoked"] >= last["invoked"]:
            continue
        if undecided and (last["about"].get("committed") or isolated):
            continue
        known = [r["offset"] + 1 for r in tables["records"] if log(r) == of and r["offset"] is not None]
        known += [o["end_offset"] for o in details(tables, "read", "final-read")
                  if log(o) == of and o["end_offset"] is not None]  # fmt: skip
        known += [end for o in tables["observations"] if log(o) == of
                  for end in (o.get("log_end"), o.get("high_watermark")) if end is not None]  # fmt: skip
        broken += commit["offset"] > max(known)
    return broken


RANDOM = added_history
ORACLES: dict[str, Oracle] = {
    "added-partition-skip": skipped,
    "added-queue-skip": left_out,
    "commit-beyond-end": above_the_end,
    "silent-partition": silent,
}
