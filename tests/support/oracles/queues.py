"""Definitions of the anomalies of a share group in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.oracles.rows import Oracle, Row, Tables, intact, is_withheld, log, polls
from tests.support.random_histories.queues import queue_history
from workloads.history.schema import NEMESIS

SLACK = 10_000_000_000


def of_kind(tables: Tables, f: str) -> list[Row]:
    return [row | json.loads(row["value"]) for row in tables["operations"] if row["f"] == f]


def queues(tables: Tables) -> dict[Any, Row]:
    """By group and log."""
    return {(row["group"], *log(row)): row for row in of_kind(tables, "queue") if row["type"] == "ok"}


def began(tables: Tables, queue: Row) -> int:
    """The offset at which the group began with the log."""
    if "began" in queue:
        return int(queue["began"])
    if queue.get("policy") != "latest":
        return 0
    known = [
        row["start_offset"]
        for row in of_kind(tables, "acknowledgement")
        if (row["group"], *log(row), row["type"]) == (queue["group"], *log(queue), "ok")
    ]
    return min([*known, *([] if queue["end_offset"] is None else [queue["end_offset"]])], default=0)


def trouble(tables: Tables) -> tuple[float, int]:
    """When the first fault began or the first client ended, and how many there were."""
    faults = [row for row in tables["operations"] if row["process"] == NEMESIS]
    ends = [row for row in of_kind(tables, "worker") if row["event"] in ("killed", "crashed")]
    clients = {json.loads(row["value"])["process"] for row in ends}
    events = {json.loads(row["value"])["event"] for row in faults}
    began = min((row["invoked"] for row in [*faults, *ends]), default=float("inf"))
    return began, len(clients) + len(events)


def deliveries(tables: Tables) -> list[Row]:
    found: list[Row] = []
    by_delivery: dict[int, list[Row]] = {}
    for each in of_kind(tables, "acknowledgement"):
        by_delivery.setdefault(each["delivery"], []).append(each)
    for row in of_kind(tables, "delivery"):
        if row["type"] != "ok":
            continue
        said = by_delivery.get(row["op"], [])
        confirmed = [each["completed"] for each in said if each["type"] == "ok"]
        found.append(
            {"deliveries": None, "since": None}
            | row
            | {"asked": min((each["invoked"] for each in said), default=None)}
            | {"kind": said[0]["kind"] if said else None, "confirmed": min(confirmed, default=None)}
        )
    return found


def record(row: Row) -> Any:
    return row["group"], *log(row), row["start_offset"]


def others(tables: Tables, of: Row) -> list[Row]:
    return [row for row in deliveries(tables) if row["op"] != of["op"] and record(row) == record(of)]


def unclaimed(tables: Tables) -> Iterator[tuple[Row, int]]:
    """Queues, and offsets of records that they have to get, and that no consumer accepted or rejected."""
    said = of_kind(tables, "acknowledgement")
    unsent = {row["op"] for row in said if row["type"] == "fail"}
    claimed = {record(row) for row in said if row["kind"] in ("accept", "reject") and row["op"] not in unsent}
    for queue in queues(tables).values():
        found = {
            row["offset"]
            for row in intact(polls(tables["records"]))
            if row["final"] and log(row) == log(queue) and row["offset"] >= began(tables, queue)
            and not is_withheld(tables, queue, row["value"])
        }  # fmt: skip
        for offset in found:
            if (queue["group"], *log(queue), offset) not in claimed:
                yield queue, offset


def lost(tables: Tables) -> int:
    broken = 0
    for queue, offset in unclaimed(tables):
        counts = [
            row["deliveries"] or 0
            for row in deliveries(tables)
            if record(row) == (queue["group"], *log(queue), offset)
        ]
        limit = queue.get("delivery_limit")
        seen = max(counts, default=0) + trouble(tables)[1]
        broken += offset < queue["end_offset"] and limit is not None and seen < limit
    return broken


def unfinished(tables: Tables) -> int:
    return sum(offset >= queue["end_offset"] for queue, offset in unclaimed(tables))


def has_lock(tables: Tables, row: Row, at: int) -> bool:
    """Whether the delivery surely was locked at that time."""
    queue = queues(tables).get((row["group"], *log(row)))
    if queue is None or None in (queue.get("lock"), row["asked"], row["since"]):
        return False
    until = min(row["asked"], row["since"] + queue["lock"], trouble(tables)[0])
    return bool(row["completed"] <= at < until)


def double_holders(tables: Tables) -> int:
    return sum(
        has_lock(tables, row, row["completed"])
        and any(
            has_lock(tables, other, row["completed"])
            and (other["completed"], other["op"]) < (row["completed"], row["op"])
            for other in others(tables, row)
        )
        for row in deliveries(tables)
    )


def before(tables: Tables, row: Row, *kinds: str) -> list[Row]:
    """Deliveries of the same record whose acknowledgement was confirmed before this one was acquired."""
    if row["since"] is None:
        return []
    acquired = row["since"] - (0 if row["completed"] < trouble(tables)[0] else SLACK)
    return [
        other
        for other in others(tables, row)
        if other["kind"] in kinds and other["confirmed"] is not None and other["confirmed"] < acquired
    ]


def redeliveries(tables: Tables) -> int:
    return sum(bool(before(tables, row, "accept", "reject")) for row in deliveries(tables))


def wrong_counts(tables: Tables) -> int:
    broken = 0
    for row in deliveries(tables):
        count = row["deliveries"]
        if count is None:
            continue
        limit = queues(tables).get((row["group"], *log(row)), {}).get("delivery_limit")
        earlier = [other["deliveries"] for other in before(tables, row, "release")]
        highest = max((each for each in earlier if each is not None), default=None)
        broken += (
            count < 1 or (limit is not None and count > limit) or (highest is not None and count <= highest)
        )
    return broken


RANDOM = queue_history
ORACLES: dict[str, Oracle] = {
    "queue-lost": lost,
    "queue-unfinished": unfinished,
    "queue-double-holder": double_holders,
    "queue-redelivery": redeliveries,
    "queue-delivery-count": wrong_counts,
}
