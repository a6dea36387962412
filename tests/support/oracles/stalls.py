"""Which readers stopped for good, in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations, pairwise

from tests.support.oracles.removals import final_read
from tests.support.oracles.rows import Oracle, Row, Tables, log, polls, sends
from tests.support.random_histories.stalls import TENTH, stall_history

Span = tuple[int, int]
NEVER = 1 << 60


def stalled_readers(tables: Tables) -> int:
    limits = {
        value["process"]: int(value["poll_limit"] * 10**9)
        for value in values(tables, "worker")
        if "poll_limit" in value
    }
    own = [p for p in polls(tables["records"]) if p["process"] in limits and is_of_a_reader(p)]
    logs = {(p["process"], log(p)): p for p in own}
    return sum(
        is_stalled([p for p in own if (p["process"], log(p)) == key], limits[key[0]], tables) for key in logs
    )


def is_of_a_reader(poll: Row) -> bool:
    return not poll["final"] and poll.get("generation") is None


def values(tables: Tables, f: str) -> list[dict[str, object]]:
    return [json.loads(o["value"]) | {"at": o["invoked"]} for o in tables["operations"] if o["f"] == f]


def is_stalled(own: list[Row], limit: int, tables: Tables) -> bool:
    ends = [
        value["at"]
        for value in values(tables, "worker")
        if (value["process"], value["event"]) == (own[0]["process"], "stopped")
    ]
    if not ends:
        return False
    until = min(ends + [value["at"] for value in values(tables, "phase") if value["phase"] == "final"])
    top, last = max(p["offset"] for p in own), max(p["completed"] for p in own)
    seen = [o["log_start"] for o in tables["observations"] if log(o) == log(own[0])]
    final = final_read(tables["operations"], own[0])
    if top + 1 < max([0, *seen, *([final["start_offset"]] if final else [])]) or last >= until:
        return False
    times = sorted({row["completed"] // TENTH * TENTH for row in shown_to_others(own, top, final, tables)})
    if not times:
        return False
    since, went_on = max(last, times[0]), min(until, times[-1])
    pauses = [(one, other) for one, other in pairwise(times) if other - one > limit // 10]
    faults = spans_of_faults(tables)
    undisturbed = longest(since, went_on, [*faults, *spans_of_recovery(tables), *pauses])
    begun = [row["invoked"] for row in sends(tables["records"])]
    is_before_any_fault = not any(began < went_on for began, _ in faults)
    return undisturbed > (
        min(limit, (max(begun) - min(begun)) // 2) if is_before_any_fault and begun else limit
    )


def shown_to_others(own: list[Row], top: int, final: Row | None, tables: Tables) -> list[Row]:
    """Records above its highest offset that it could have read, too."""
    above = [r for r in tables["records"] if log(r) == log(own[0]) and (r["offset"] or 0) > top]
    others = [r for r in polls(above) if not r["final"]]
    if any(p.get("committed") for p in own):
        return [r for r in others if r.get("committed")]
    acked = [r for r in sends(above, "ok") if final is not None and r["offset"] < final["end_offset"]]
    return others + acked


def spans_of_faults(tables: Tables) -> list[Span]:
    stages: dict[str, list[Row]] = {}
    for row in tables["operations"]:
        if row["process"] == -1:
            stages.setdefault(json.loads(row["value"])["event"], []).append(row)
    return [(min(row["invoked"] for row in rows), healed(rows)) for rows in stages.values()]


def healed(rows: Iterable[Row]) -> int:
    heals = [row["completed"] for row in rows if json.loads(row["value"])["stage"] == "heal"]
    return max(heals, default=NEVER)


def spans_of_recovery(tables: Tables) -> list[Span]:
    rows = [row for row in tables["operations"] if row["f"] == "recovery"]
    return [(row["invoked"], row["completed"] if row["type"] == "ok" else NEVER) for row in rows]


def longest(since: int, until: int, disturbances: list[Span]) -> int:
    """Of all pairs of moments between which there is no disturbance."""
    moments = {since, until, *(moment for span in disturbances for moment in span)}
    within = sorted(moment for moment in moments if since <= moment <= until)
    calm = (
        (one, other)
        for one, other in combinations(within, 2)
        if not any(began < other and ended > one for began, ended in disturbances)
    )
    return max((other - one for one, other in calm), default=0)


RANDOM = stall_history
ORACLES: dict[str, Oracle] = {"stalled-reader": stalled_readers}
