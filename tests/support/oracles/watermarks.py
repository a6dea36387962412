"""The definition of a read above the high watermark in plain Python."""

from __future__ import annotations

from itertools import pairwise

from tests.support.oracles.logs import served
from tests.support.oracles.rows import Row, Tables, log, polls
from tests.support.random_histories.logs import log_history


def key(row: Row) -> tuple[object, ...]:
    return log(row), row.get("node"), row.get("leader_epoch")


def answers(tables: Tables) -> list[Row]:
    """Those after which the broker still called itself the leader in the same epoch."""
    found = []
    for of in {(log(o), o["node"]) for o in tables["observations"]}:
        mine = [o for o in tables["observations"] if (log(o), o["node"]) == of and o["kind"] == "partition"]
        for a, b in pairwise(sorted(mine, key=lambda o: o["time"])):
            if a["leader"] == a["node"] == b["leader"] and a["leader_epoch"] == b["leader_epoch"]:
                found.append(a)
    return [o for o in found if o.get("asked") is not None and o.get("high_watermark") is not None]


def read_above_watermark(tables: Tables) -> int:
    known = [
        p for p in polls(tables["records"]) if p.get("node") is not None and p["leader_epoch"] is not None
    ]
    broken = 0
    for of, op, process in {(key(p), p["op"], p["process"]) for p in known}:
        mine = [p for p in known if (key(p), p["op"], p["process"]) == (of, op, process)]
        arrived, top = max(served(p) for p in mine), max(p["offset"] for p in mine)
        broken += any(
            key(o) == of and o["asked"] > arrived and o["high_watermark"] <= top for o in answers(tables)
        )
    return broken


RANDOM = log_history
ORACLES = {"read-above-watermark": read_above_watermark}
