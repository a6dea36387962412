"""The definitions of what leaders and brokers must not report, in plain Python."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from analyzers.facts.leaders import DESTROYS
from tests.support.oracles.rows import Oracle, Row, Tables, log
from tests.support.random_histories.replication import replication_history
from workloads.history.schema import NEMESIS


def samples(tables: Tables, kind: str = "partition") -> list[Row]:
    return [o for o in tables["observations"] if o["kind"] == kind]


def led(tables: Tables) -> list[Row]:
    """Those after which the broker still called itself the leader in the same epoch."""
    found = []
    for of in {(log(o), o["node"]) for o in samples(tables)}:
        mine = sorted((o for o in samples(tables) if (log(o), o["node"]) == of), key=lambda o: o["time"])
        found += [
            a
            for a, b in pairwise(mine)
            if a["leader"] == a["node"] == b["leader"] and a["leader_epoch"] == b["leader_epoch"]
        ]
    return found


def is_before(a: Row, b: Row) -> bool:
    return b["asked"] is not None and a["time"] < b["asked"]


def above_end(tables: Tables) -> int:
    return sum(
        None not in (o["high_watermark"], o["log_end"]) and o["high_watermark"] > o["log_end"]
        for o in led(tables)
    )


def went_back(tables: Tables) -> int:
    marks = [o for o in led(tables) if o["high_watermark"] is not None]
    return sum(
        any(
            log(a) == log(b) and a["leader_epoch"] == b["leader_epoch"] and is_before(a, b)
            and a["high_watermark"] > b["high_watermark"]
            for a in marks
        )
        for b in marks
    )  # fmt: skip


def short_leaders(tables: Tables) -> list[tuple[Any, bool]]:
    """The log of each leader without what had been replicated, and whether a cause was observed."""
    found = []
    answers = led(tables)
    for of in {log(o) for o in answers}:
        mine = [o for o in answers if log(o) == of]
        committed = -1
        for epoch in sorted({o["leader_epoch"] for o in mine}):
            ends = [o for o in mine if o["leader_epoch"] == epoch and o["log_end"] is not None]
            if ends:
                first = min(ends, key=lambda o: (o["asked"], o["time"]))
                if first["log_end"] < committed:
                    found.append((of, has_cause(tables, first)))
                committed = min(committed, first["log_end"])
            later = [o["asked"] for o in mine if o["leader_epoch"] > epoch]
            marks = [
                o["high_watermark"]
                for o in mine
                if o["leader_epoch"] == epoch and o["high_watermark"] is not None
                and later and o["time"] < min(later)
            ]  # fmt: skip
            committed = max([committed, *marks])
    return found


def settings_of(tables: Tables, topic: str) -> list[dict[str, str]]:
    return [json.loads(o["value"]) for o in samples(tables, "settings") if o["topic"] == topic]


def allows_unclean(tables: Tables, topic: str) -> bool:
    return any(each.get("unclean.leader.election.enable") == "true" for each in settings_of(tables, topic))


def lost_at(tables: Tables) -> list[int]:
    """When faults began that destroy records or elect uncleanly."""
    return [
        o["invoked"]
        for o in tables["operations"]
        if o["f"] in DESTROYS or (o["process"] == NEMESIS and "unclean" in (o.get("value") or ""))
    ]


def has_begun(faults: list[int], one: Row) -> bool:
    return any(began <= one["time"] for began in faults)


def has_cause(tables: Tables, leader: Row) -> bool:
    if has_begun(lost_at(tables), leader) or allows_unclean(tables, leader["topic"]):
        return True
    views = [o for o in samples(tables) if log(o) == log(leader) and o["isr"] is not None]
    if not any(o["leader_epoch"] == leader["leader_epoch"] for o in views):
        return False
    earlier = [o for o in views if o["leader_epoch"] < leader["leader_epoch"]]
    if not earlier:
        return False
    last = max(earlier, key=lambda o: (o["leader_epoch"], o["time"]))
    return leader["node"] not in last["isr"]


def conflicts(tables: Tables, *kinds: str) -> int:
    named: dict[Any, set[int]] = {}
    for o in (o for kind in kinds for o in samples(tables, kind)):
        if o["leader"] >= 0:
            named.setdefault((o["kind"], log(o), o["leader_epoch"]), set()).add(o["leader"])
    return sum(len(leaders) > 1 for leaders in named.values())


def outside(tables: Tables) -> int:
    return sum(
        o["leader"] >= 0
        and o["isr"] is not None
        and (
            o["leader"] not in o["isr"]
            or (o["replicas"] is not None and not set(o["isr"]) <= set(o["replicas"]))
        )
        for o in samples(tables)
    )


def regressions(tables: Tables, kind: str = "partition") -> int:
    known = [o for o in samples(tables, kind) if o["connection"] is not None]
    return sum(
        any(
            (log(a), a["node"], a["connection"]) == (log(b), b["node"], b["connection"]) and is_before(a, b)
            and a["leader_epoch"] > b["leader_epoch"]
            for a in known
        )
        for b in known
    )  # fmt: skip


RANDOM = replication_history
ORACLES: dict[str, Oracle] = {
    "watermark-above-end": above_end,
    "watermark-regression": went_back,
    "leader-below-watermark": lambda tables: [known for _, known in short_leaders(tables)].count(False),
    "unclean-truncation": lambda tables: [known for _, known in short_leaders(tables)].count(True),
    "two-leaders-in-epoch": lambda tables: conflicts(tables, "partition"),
    "controller-conflict": lambda tables: conflicts(tables, "quorum", "controller"),
    "controller-regression": lambda tables: regressions(tables, "controller"),
    "leader-outside-isr": outside,
    "metadata-regression": regressions,
}
