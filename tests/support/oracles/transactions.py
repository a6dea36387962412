"""Definitions of the anomalies of transactions and of availability in plain Python."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from analyzers.catalogue.registry import CYCLE_CHECKS
from analyzers.facts.availability import GRAIN
from tests.support.oracles.removals import is_compacted, removed_to
from tests.support.oracles.rows import Oracle, Row, Tables, log, reading
from tests.support.random_histories.transactions import transaction_history


def sends(tables: Tables) -> list[Row]:
    return [r for r in tables["records"] if r["f"] == "send"]


def polls(tables: Tables) -> list[Row]:
    return [r for r in tables["records"] if r["f"] == "poll"]


def intact(tables: Tables) -> list[Row]:
    return [p for p in polls(tables) if p.get("error") is None and p["value"] is not None]


def reads(tables: Tables, of: Row) -> list[Row]:
    return [p for p in intact(tables) if log(p) == log(of) and p["value"] == of["value"]]


def committed_reads(tables: Tables, of: Row) -> list[Row]:
    return [p for p in reads(tables, of) if p.get("committed")]


def parts(tables: Tables) -> list[Row]:
    return [s for s in sends(tables) if s.get("transaction") is not None]


def ops(tables: Tables, f: str) -> list[Row]:
    return [o | {"fields": json.loads(o["value"])} for o in tables["operations"] if o["f"] == f]


def transaction(tables: Tables, part: Row) -> Row | None:
    return next((t for t in ops(tables, "txn") if t["op"] == part["transaction"]), None)


def reader(poll: Row) -> Any:
    return "final" if poll.get("final") else poll["process"]


def spans(tables: Tables) -> Iterator[tuple[Any, Any, int, int]]:
    every: dict[Any, list[Row]] = {}
    for p in polls(tables):
        one = log(p), p["process"], p["assignment"], reading(tables["operations"], p), bool(p.get("final"))
        every.setdefault(one, []).append(p)
    for one, mine in every.items():
        if all(p.get("committed") for p in mine):
            offsets = [p["offset"] for p in mine]
            yield one[0], reader(mine[0]), min(offsets), max(offsets)
    for read in tables["operations"]:
        if read["f"] in ("read", "final-read") and read["type"] == "ok":
            mine = [p for p in polls(tables) if p["process"] == read["process"]]
            if mine and all(p.get("committed") for p in mine):
                who = "final" if read["f"] == "final-read" else read["process"]
                yield log(read), who, read["start_offset"], read["end_offset"] - 1


def torn(tables: Tables) -> int:
    broken = 0
    for part in parts(tables):
        passed = {r for at, r, low, high in spans(tables) if at == log(part) and part["offset"] is not None
                  and max(low, removed_to(tables, part)) <= part["offset"] <= high}  # fmt: skip
        if is_compacted(tables, part["topic"]):
            continue
        missed = passed - {reader(p) for p in committed_reads(tables, part)}
        others = [o for o in parts(tables) if o["transaction"] == part["transaction"]]
        broken += bool(missed & {reader(p) for other in others for p in committed_reads(tables, other)})
    return broken


def served(poll: Row) -> float:
    times = (poll.get("fetched"), poll["completed"])
    return next((at for at in times if at is not None), math.inf)


def is_over(txn: Row) -> bool:
    return txn["completed"] is not None or txn["fields"].get("requested") is False


def precommitted(tables: Tables) -> int:
    broken = 0
    for part in parts(tables):
        of = transaction(tables, part)
        ending = of["fields"].get("ending") if of else None
        together = [s["invoked"] for s in parts(tables) if s["transaction"] == part["transaction"]]
        broken += any(
            served(p) < (max(together) if ending is None else ending)
            or p.get("transaction") == part["transaction"]
            or (of is not None and of["type"] != "ok" and ending is None and is_over(of))
            for p in committed_reads(tables, part)
        )
    return broken


def future(tables: Tables) -> int:
    return sum(any(p["completed"] < s["invoked"] for p in reads(tables, s)) for s in sends(tables))


def aborted(tables: Tables) -> int:
    broken = 0
    for send in sends(tables):
        of = reads(tables, send) if send.get("transaction") is None else committed_reads(tables, send)
        broken += send["type"] == "fail" and bool(of)
    return broken


def is_later(init: Row, txn: Row, own: list[Row]) -> bool:
    """Whether the init certainly came after the one by which the producer of the transaction claimed its id."""
    claims = [o["completed"] for o in own if o["type"] == "ok" and o["invoked"] <= txn["invoked"]]
    ids = [row["fields"].get("producer_id") for row in (init, txn)]
    same_id = None in ids or ids[0] == ids[1]
    return (bool(claims) and init["invoked"] > max(claims)) or (
        same_id and init["fields"]["epoch"] > txn["fields"]["epoch"]
    )


def fenced(tables: Tables, txn: Row) -> int | None:
    inits = [
        i for i in ops(tables, "init") if i["fields"]["transactional_id"] == txn["fields"]["transactional_id"]
    ]
    own = [i for i in inits if i["process"] == txn["process"]]
    by = [
        i["completed"]
        for i in inits
        if i["type"] == "ok"
        and i not in own
        and is_later(i, txn, own)
        and not any(o["invoked"] > i["invoked"] for o in own)
    ]
    return min(by, default=None)


def zombie(tables: Tables) -> int:
    broken = 0
    for part in parts(tables):
        of = transaction(tables, part)
        at = fenced(tables, of) if of else None
        taken = part["type"] == "ok" or part["offset"] is not None or bool(reads(tables, part))
        broken += at is not None and part["invoked"] > at and taken
    return broken


def above_lso(tables: Tables) -> int:
    broken = 0
    committed_polls = [p for p in polls(tables) if p.get("committed")]
    for place, op in {(log(p), p["op"]) for p in committed_polls}:
        mine = [p for p in committed_polls if (log(p), p["op"]) == (place, op)]
        seen = [o for o in tables["observations"] if log(o) == place]
        last = max((o["leader_epoch"] for o in seen), default=None)
        seen = [o for o in seen if o["leader_epoch"] == last and o["node"] == o["leader"]]
        end = min((o["log_end"] for o in seen), default=None)
        broken += any(
            o["last_stable"] is not None
            and o["high_watermark"] >= end
            and o["asked"] > max(p["completed"] for p in mine)
            and o["last_stable"] <= max(p["offset"] for p in mine)
            for o in seen
        )
    return broken


def edges(tables: Tables) -> Iterator[tuple[str, int, int]]:
    known = {t["op"]: t for t in ops(tables, "txn")}
    placed = []
    for part in parts(tables):
        read = [p["offset"] for p in committed_reads(tables, part)]
        at = min(read) if read else part["offset"] if part["type"] == "ok" else None
        if at is not None and part["type"] != "fail":
            placed.append((log(part), at, part["value"], part["transaction"]))
        for p in committed_reads(tables, part):
            if p.get("transaction") is not None:
                yield "wr", part["transaction"], p["transaction"]
    for (here, _, _, a), (there, _, _, b) in pairwise(sorted(placed)):
        if here == there:
            yield "ww", a, b
    for a, b in ((a, b) for a in known.values() for b in known.values()):
        if a["type"] == "ok" and a["completed"] < b["invoked"]:
            yield "realtime", a["op"], b["op"]


LEVELS = {
    "G1c-wr": {"wr"},
    "G1c-realtime": {"wr", "realtime"},
    "G0": {"ww"},
    "G0-realtime": {"ww", "realtime"},
    "G1c": {"wr", "ww", "realtime"},
}


def components(tables: Tables, kinds: set[str]) -> set[frozenset[int]]:
    """The strongly connected components with two or more transactions."""
    known = {t["op"] for t in ops(tables, "txn")}
    reach = {(a, b) for kind, a, b in edges(tables) if kind in kinds and a != b and {a, b} <= known}
    for middle in known:
        reach |= {(a, d) for a, b in reach for c, d in reach if b == c == middle}
    sets = {frozenset(b for b in known if a == b or {(a, b), (b, a)} <= reach) for a in known}
    return {one for one in sets if len(one) > 1}


def cycles(name: str) -> Oracle:
    def count(tables: Tables) -> int:
        fewer = [
            each for kinds in LEVELS.values() if kinds < LEVELS[name] for each in components(tables, kinds)
        ]
        return sum(not any(each <= one for each in fewer) for one in components(tables, LEVELS[name]))

    return count


def ended(send: Row) -> int:
    return send["invoked"] if send["completed"] is None else send["completed"]


def asks(tables: Tables, place: Any) -> list[Row]:
    """The sends to a log, and the requests for a producer id, without an answer, of clients that had sent to it."""
    mine = [s for s in sends(tables) if log(s) == place]
    waits = [o for o in tables["operations"] if o["f"] == "init" and o["type"] == "info"]
    return mine + [
        o for o in waits if any(s["process"] == o["process"] and s["invoked"] < o["invoked"] for s in mine)
    ]


def unavailable(bound: int) -> Oracle:
    def count(tables: Tables) -> int:
        broken = 0
        for place in {log(s) for s in sends(tables)}:
            mine = asks(tables, place)
            acks = sorted({s["completed"] for s in mine if s["type"] == "ok"})
            ends = sorted({*acks, max(map(ended, mine))})
            for before, end in pairwise([None, *ends]):
                waiting = [
                    s["invoked"] for s in mine if (before is None or ended(s) > before) and ended(s) <= end
                ]
                broken += end - max(min(waiting), min(waiting) if before is None else before) > bound
        return broken

    return count


def slow(bound: int) -> Oracle:
    def count(tables: Tables) -> int:
        heals = [o["completed"] for o in tables["operations"] if o["process"] == -1 and "heal" in o["value"]]
        if not heals:
            return 0
        broken = 0
        for place in {log(s) for s in sends(tables)}:
            mine = asks(tables, place)
            before = any(s["type"] == "ok" and s["completed"] < max(heals) for s in mine)
            since = [s for s in mine if s["invoked"] >= max(heals)]
            acks = [s["completed"] for s in since if s["type"] == "ok"]
            at = min(acks) if acks else max(map(ended, since), default=None)
            broken += before and at is not None and at - max(heals) > bound
        return broken

    return count


def silent(tables: Tables) -> int:
    """Partitions that acknowledged nothing after the last heal although others did, of what was sent later."""
    heals = [o["completed"] for o in tables["operations"] if o["process"] == -1 and "heal" in o["value"]]
    if not heals:
        return 0
    healed = max(heals)
    gone = {
        o["topic"] for o in tables["operations"]
        if (o["f"] == "topic" and json.loads(o["value"])["event"] == "deleted")
        or (o["f"] == "alter" and o["type"] != "fail" and json.loads(o["value"])["change"] == "delete")
    }  # fmt: skip
    answered = [
        s for s in sends(tables) if (s["type"] == "ok" or s["offset"] is not None) and ended(s) >= healed
    ]
    broken = 0
    for place in {log(s) for s in sends(tables) if s["topic"] not in gone} - {log(s) for s in answered}:
        asked = [s["invoked"] for s in sends(tables) if log(s) == place and s["invoked"] >= healed]
        broken += any(s["invoked"] > min(asked) for s in answered) if asked else 0
    return broken


RANDOM = transaction_history
ORACLES: dict[str, Oracle] = {
    "G1a": aborted,
    "future-read": future,
    "torn-transaction": torn,
    "precommitted-read": precommitted,
    "read-above-lso": above_lso,
    "zombie-write": zombie,
    "unavailable": unavailable(3 * GRAIN),
    "slow-recovery": slow(2 * GRAIN),
} | {check.name: cycles(check.name) for check in CYCLE_CHECKS}
