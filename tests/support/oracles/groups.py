"""Definitions of the anomalies of groups in plain Python."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from analyzers.facts.availability import GRAIN
from tests.support.oracles.removals import is_compacted
from tests.support.oracles.rows import Oracle, Row, Tables, log, uncertain
from tests.support.oracles.transactions import polls
from tests.support.random_histories.groups import group_history

ENDS = ("left", "fenced", "died")


def member_events(tables: Tables) -> list[Row]:
    return [
        o | json.loads(o["value"]) for o in tables["operations"] if o["f"] == "member" and o["type"] != "fail"
    ]


def deaths(tables: Tables) -> list[Row]:
    events = [o | json.loads(o["value"]) for o in tables["operations"] if o["f"] == "worker"]
    return [o | {"event": "died", "op": -1} for o in events]


def commits(tables: Tables) -> list[Row]:
    return [
        o | {"reset": False, "transaction": None} | json.loads(o["value"]) | {"offset": o["end_offset"]}
        for o in tables["operations"]
        if o["f"] == "commit"
    ]


def group_log(row: Row) -> Any:
    return row["group"], log(row)


def assigned(tables: Tables) -> list[Row]:
    """Assignments, each with the next event of its process about that log or about the process itself."""
    events = member_events(tables)
    rows = []
    for one in (t for t in events if t["event"] == "assigned" and t["topic"] is not None):
        mine = [t for t in events if t["process"] == one["process"] and group_log(t) == group_log(one)]
        mine += [
            t for t in events
            if t["topic"] is None and t["process"] == one["process"] and t["group"] == one["group"]
            and t["event"] in ("left", "fenced")
        ]  # fmt: skip
        mine += [d for d in deaths(tables) if d["process"] == one["process"]]
        order = lambda t: (t["invoked"], t["completed"], t["op"])  # noqa: E731
        later = [t for t in mine if order(t) > order(one)]
        rows.append(one | {"next": min(later, key=order, default=None)})
    return rows


def owned_until(tables: Tables, one: Row) -> int:
    """The last moment (ns) at which the assignment certainly still held."""
    following = one["next"]
    same = [
        a for a in assigned(tables)
        if group_log(a) == group_log(one) and a["generation"] == one["generation"]
        and one.get("instance") is not None and a.get("instance") == one["instance"]
    ]  # fmt: skip
    order = itemgetter("completed", "op")
    after = min((a for a in same if order(a) > order(one)), key=order, default=None)
    is_replaced = after is not None and after["process"] != one["process"]
    if following and following["event"] in ("revoked", "left", "assigned") and not is_replaced:
        return int(following["invoked"])
    proofs = [c["invoked"] for c in accepted(tables, one) if c["generation"] == one["generation"]]
    return max(proofs, default=one["completed"])


def accepted(tables: Tables, one: Row) -> list[Row]:
    """The ok commits of the owner during an assignment."""
    limit = one["next"]["invoked"] if one["next"] else math.inf
    return [
        c for c in commits(tables)
        if c["type"] == "ok" and group_log(c) == group_log(one) and c["process"] == one["process"]
        and one["completed"] <= c["invoked"] and c["completed"] <= limit
    ]  # fmt: skip


def proved_until(tables: Tables, one: Row) -> float:
    """The last commit of the owner that no member of a newer generation makes doubtful."""
    others = [a for a in assigned(tables) if a["generation"] is not None and group_log(a) == group_log(one)]
    return max(
        (
            c["invoked"]
            for c in accepted(tables, one)
            if c["generation"] is not None
            and all(a["generation"] <= c["generation"] for a in others if a["completed"] < c["invoked"])
        ),
        default=-1,
    )


def double(tables: Tables) -> int:
    owned = [
        a | {"until": owned_until(tables, a), "proved": proved_until(tables, a)}
        for a in assigned(tables)
        if a["generation"] is not None
    ]

    def is_double(a: Row) -> bool:
        earlier = [b for b in owned if group_log(a) == group_log(b) and _order(b) < _order(a)]
        is_late = any(b["generation"] > a["generation"] for b in earlier)
        return any(
            b["until"] > a["completed"]
            if a["generation"] == b["generation"]
            else b["proved"] > a["completed"] and not is_late
            for b in earlier
        )

    return sum(map(is_double, owned))


def _order(assignment: Row) -> tuple[Any, ...]:
    return tuple(assignment[name] for name in ("completed", "until", "op"))


def groups_of(tables: Tables) -> set[tuple[Any, Any]]:
    return {(o["group"], o["process"]) for o in tables["operations"] if o["f"] in ("member", "commit")}


def polled_by(tables: Tables, group: Any) -> list[Row]:
    return [p for p in polls(tables) if (group, p["process"]) in groups_of(tables)]


def skipped(tables: Tables) -> int:
    broken = 0
    began = assigned(tables)
    for one in began:
        group = polled_by(tables, one["group"])
        here = [p for p in group if log(p) == log(one)]
        order = itemgetter("completed", "op")
        reached = [
            a["start_offset"] for a in began if group_log(a) == group_log(one) and order(a) < order(one)
        ]
        for op in {p["op"] for p in here}:
            mine = [p for p in here if p["op"] == op]
            if max(p["completed"] for p in mine) <= one["completed"]:
                reached.append(max(p["offset"] for p in mine) + 1)
        reached += [
            c["offset"] for c in commits(tables)
            if c["reset"] and c["type"] != "fail" and group_log(c) == group_log(one)
            and c["invoked"] <= one["completed"]
        ]  # fmt: skip
        tried = [c for c in commits(tables) if c["type"] != "fail" and group_log(c) == group_log(one)]
        if not reached and one.get("auto_offset_reset") == "earliest":
            reached = [] if any(c["invoked"] <= one["completed"] for c in tried) else [0]
        stored = [c for c in binding(tables, one) if c["completed"] < one["invoked"]]
        if is_compacted(tables, one["topic"]):
            continue
        if not reached or not (stored or one.get("auto_offset_reset") in ("earliest", "none")):
            continue
        isolated = not group or any(p.get("committed") for p in group)
        there = {
            p["offset"] for p in polls(tables)
            if log(p) == log(one) and p["invoked"] > one["completed"] and is_visible(tables, p, isolated)
        }  # fmt: skip
        broken += len(there & set(range(max(reached), one["start_offset"])) - {p["offset"] for p in here})
    return broken


def is_visible(tables: Tables, poll: Row, isolated: bool) -> bool:
    """Whether a member with this isolation certainly gets the record."""
    sends = [r for r in tables["records"] if r["f"] == "send"]
    return bool(poll.get("committed")) or not (isolated or uncertain(sends, poll))


def binding(tables: Tables, at: Row) -> list[Row]:
    """The ok commits of a group and log that had taken effect when they completed."""
    group = polled_by(tables, at["group"])
    waits = bool(group) and all(p.get("committed") for p in group)
    return [
        c for c in commits(tables)
        if c["type"] == "ok" and group_log(c) == group_log(at) and (c["transaction"] is None or waits)
    ]  # fmt: skip


def committed(tables: Tables, at: Row, *, before: int, until: int) -> int:
    resets = [
        c for c in commits(tables) if c["reset"] and c["type"] != "fail" and group_log(c) == group_log(at)
    ]
    begun = sum(r["invoked"] <= until for r in resets)
    return max(
        (
            c["offset"]
            for c in binding(tables, at)
            if not c["reset"] and c["completed"] < before
            and begun == sum(r["completed"] is not None and r["completed"] < c["invoked"] for r in resets)
        ),
        default=-1,
    )  # fmt: skip


def beyond(tables: Tables) -> int:
    broken = 0
    for c in (c for c in commits(tables) if c["type"] == "ok" and not c["reset"]):
        group = polled_by(tables, c["group"])
        mine = [p for p in group if log(p) == log(c)]
        reached = [
            max(q["offset"] for q in mine if q["op"] == p["op"]) + 1
            for p in mine
            if min(q["invoked"] for q in mine if q["op"] == p["op"]) <= c["completed"]
        ]
        reached += [
            a["start_offset"] for a in assigned(tables)
            if group_log(a) == group_log(c) and a["invoked"] <= c["completed"]
        ]  # fmt: skip
        reached += [
            r["offset"] for r in commits(tables)
            if r["reset"] and r["type"] != "fail" and group_log(r) == group_log(c) and r["invoked"] <= c["completed"]
        ]  # fmt: skip
        careful = not group or any(p.get("committed") for p in group)
        visible = [p for p in polls(tables) if log(p) == log(c) and is_visible(tables, p, careful)]
        under = max((p["offset"] for p in visible if p["offset"] < c["offset"]), default=None)
        if is_compacted(tables, c["topic"]):
            continue
        if reached and under is not None and under >= max(reached):
            broken += max(p["invoked"] for p in visible if p["offset"] == under) > c["invoked"]
    return broken


def regression(tables: Tables) -> int:
    return sum(
        c["offset"] < committed(tables, c, before=c["invoked"], until=c["completed"])
        for c in commits(tables)
        if c["type"] == "ok" and not c["reset"]
    )


def fenced(tables: Tables) -> int:
    broken = 0
    for c in commits(tables):
        newer = [
            (a["generation"], a["process"]) for a in assigned(tables)
            if a["generation"] is not None and group_log(a) == group_log(c) and a["completed"] < c["invoked"]
        ]  # fmt: skip
        if c["type"] == "ok" and c["generation"] is not None and newer:
            generation, process = max(newer)
            broken += generation > c["generation"] and process != c["process"]
    return broken


def duplicates(tables: Tables) -> int:
    broken = 0
    for who in {
        (group_log(a), a["process"], a["generation"]) for a in assigned(tables) if a["generation"] is not None
    }:
        mine = [a for a in assigned(tables) if (group_log(a), a["process"], a["generation"]) == who]
        first = min(mine, key=lambda a: (a["invoked"], a["completed"], a["start_offset"]))
        end = committed(tables, first, before=first["invoked"], until=first["completed"])
        if first["start_offset"] >= end:
            continue
        group = [p for p in polled_by(tables, first["group"]) if log(p) == log(first)]
        own = [p for p in group if (p["process"], p.get("generation")) == who[1:]]
        for p in own:
            once = min(q["completed"] for q in group if q["offset"] == p["offset"])
            unsought = p["assignment"] == min(q["assignment"] for q in own)
            broken += (
                p["offset"] < end
                and unsought
                and p["completed"] > first["completed"]
                and once < first["invoked"]
            )
    return broken


def lives(tables: Tables, group: Any) -> Iterator[tuple[int, int]]:
    for process in {process for of, process in groups_of(tables) if of == group}:
        signs = [m for m in member_events(tables) if (m["group"], m["process"]) == (group, process)]
        signs += [
            c | {"event": "commit", "completed": c["invoked"]} for c in commits(tables)
            if (c["group"], c["process"]) == (group, process)
        ]  # fmt: skip
        signs += [d for d in deaths(tables) if d["process"] == process]
        life: list[Row] = []
        for sign in sorted(signs, key=lambda s: (s["invoked"], s["completed"], s["event"])):
            life.append(sign)
            if sign["event"] in ENDS:
                yield from span(life)
                life = []
        yield from span(life)


def span(life: list[Row]) -> Iterator[tuple[int, int]]:
    born = min((s["completed"] for s in life if s["event"] not in ENDS), default=None)
    if born is not None and born < max(s["invoked"] for s in life):
        yield born, max(s["invoked"] for s in life)


def orphans(bound: int, unit: int) -> Oracle:
    """Walks through time in steps of `unit` ns."""

    def count(tables: Tables) -> int:
        broken = 0
        for where in {group_log(a) for a in assigned(tables)}:
            mine = [a for a in assigned(tables) if group_log(a) == where]
            owned = [(a["invoked"], a["next"]["completed"] if a["next"] else math.inf) for a in mine]
            alive = list(lives(tables, where[0]))
            lasted = 0
            last = max((gone for _, gone in alive), default=0)
            for now in range(min(opens for opens, _ in owned), last + unit, unit):
                covered = any(opens <= now and now + unit <= closes for opens, closes in owned)
                free = not covered and any(born <= now and now + unit <= gone for born, gone in alive)
                if not free or any(opens <= now <= closes for opens, closes in owned):
                    broken += lasted > bound
                    lasted = 0
                lasted += unit if free else 0
            broken += lasted > bound
        return broken

    return count


RANDOM = group_history
ORACLES: dict[str, Oracle] = {
    "double-ownership": double,
    "group-skip": skipped,
    "commit-beyond-polls": beyond,
    "commit-regression": regression,
    "unfenced-commit": fenced,
    "excess-duplicates": duplicates,
    "orphaned-partition": orphans(2 * GRAIN, GRAIN),
}
