"""The definitions of what followers keep, where logs begin and when leaders acknowledge, in plain Python."""

from __future__ import annotations

import json
from itertools import pairwise

from analyzers.checks.replicas import LIMIT
from analyzers.facts.replicas import LATE, SETTLED
from tests.support.oracles.replication import (
    allows_unclean,
    has_begun,
    is_before,
    led,
    lost_at,
    samples,
    settings_of,
    short_leaders,
)  # fmt: skip
from tests.support.oracles.rows import Oracle, Row, Tables, log
from tests.support.random_histories.followers import follower_history


def has_quorum(tables: Tables) -> bool:
    return bool(samples(tables, "quorum"))


def held(tables: Tables, one: Row) -> int:
    """Up to where the follower surely had its log before it was asked."""
    leaders = [o for o in led(tables) if log(o) == log(one)]
    return max(
        (
            mark["high_watermark"]
            for mark in leaders
            for later in leaders
            if mark["leader_epoch"] == later["leader_epoch"] and mark["high_watermark"] is not None
            and None not in (later["asked"], later["isr"]) and mark["time"] + SETTLED < later["asked"]
            and sorted(one["isr"] or ()) == sorted(later["isr"]) and is_before(later, one)
        ),
        default=-1,
    )  # fmt: skip


def replicas_of(tables: Tables, one: Row) -> set[tuple[int, ...]]:
    return {tuple(sorted(o["replicas"])) for o in samples(tables) if log(o) == log(one) and o.get("replicas")}


def short_followers(tables: Tables) -> int:
    if not has_quorum(tables):
        return 0
    return sum(
        one["node"] != one["leader"] and one["node"] in (one["isr"] or ()) and one["log_end"] is not None
        and one["log_end"] < held(tables, one)
        and not has_begun(lost_at(tables), one) and not allows_unclean(tables, one["topic"])
        and not any(log(one) == of for of, _ in short_leaders(tables))
        and len(replicas_of(tables, one)) < 2
        for one in samples(tables)
    )  # fmt: skip


def is_limited(tables: Tables, topic: str) -> bool:
    return any(
        "compact" in found.get("cleanup.policy", "")
        or int(found.get("retention.bytes", -1)) >= 0
        or 0 <= int(found.get("retention.ms", -1)) <= 3_600_000
        for found in settings_of(tables, topic)
    )


def unexplained_starts(tables: Tables) -> int:
    """Of a topic that keeps everything, in a run where nobody deletes records."""
    created = {o["topic"] for o in tables["operations"] if o["f"] == "topic"}
    known = created & {r["topic"] for r in tables["records"]}
    if any(o["f"] == "clock" for o in tables["operations"]):
        return 0
    return sum(
        o["topic"] in known and (o["log_start"] or 0) > 0 and o["partition"] == 0
        and not is_limited(tables, o["topic"])
        for o in led(tables)
    )  # fmt: skip


def starts_that_went_back(tables: Tables) -> int:
    known = {log(r) for r in tables["records"]}
    starts = [o for o in led(tables) if None not in (o["log_start"], o["connection"]) and log(o) in known]
    same = ("topic", "partition", "node", "leader_epoch", "connection")
    return sum(
        any(
            all(a[name] == b[name] for name in same) and is_before(a, b) and a["log_start"] > b["log_start"]
            for a in starts
        )
        for b in starts
    )  # fmt: skip


def acks_in(tables: Tables, a: Row, b: Row) -> bool:
    producers = {
        value["process"]
        for o in tables["operations"]
        if o["f"] == "worker" and (value := json.loads(o["value"])).get("acks") == "all"
    }
    return any(
        r["f"] == "send" and r["type"] == "ok" and r["process"] in producers and log(r) == log(a)
        and a["time"] < r["invoked"] and b["asked"] is not None and r["completed"] < b["asked"]
        for r in tables["records"]
    )  # fmt: skip


def periods(tables: Tables) -> list[list[Row]]:
    """Successive answers of a leader in one epoch with too few replicas in sync."""
    found = []
    same = ("topic", "partition", "node", "leader_epoch")
    for of in {tuple(o[name] for name in same) for o in led(tables)}:
        least = [
            int(each["min.insync.replicas"])
            for each in settings_of(tables, of[0])
            if "min.insync.replicas" in each
        ]
        if not least:
            continue
        period: list[Row] = []
        mine = [o for o in led(tables) if tuple(o[name] for name in same) == of]
        for one in sorted(mine, key=lambda o: o["time"]):
            if one["isr"] is not None and len(one["isr"]) < min(least):
                period.append(one)
            elif one["isr"] is not None:
                found.append(period)
                period = []
        found.append(period)
    return found


def acks_of_short_isrs(tables: Tables) -> int:
    changed = any(
        "min.insync.replicas" in (o.get("value") or "") and o["f"] == "configure"
        for o in tables["operations"]
    )
    if not has_quorum(tables) or changed:
        return 0
    count = 0
    for period in periods(tables):
        until = max((o["asked"] for o in period if o["asked"] is not None), default=0)
        gaps = [
            acks_in(tables, a, b)
            for a, b in pairwise(period)
            if b["asked"] is not None and b["asked"] < until - 2 * SETTLED
        ]
        count += sum(a and b for a, b in pairwise(gaps))
    return count


def disagreements(tables: Tables) -> int:
    count = 0
    for of in {log(o) for o in samples(tables)}:
        mine = sorted((o for o in samples(tables) if log(o) == of), key=lambda o: o["time"])
        by_node = {o["node"]: [each for each in mine if each["node"] == o["node"]] for o in mine}
        until = {
            node: max((o["asked"] for o in views if o["asked"] is not None), default=None)
            for node, views in by_node.items()
        }
        ended = max((each for each in until.values() if each is not None), default=0)
        present = {node: each for node, each in until.items() if each is not None and each >= ended - LATE}
        if len({by_node[node][-1]["leader_epoch"] for node in present}) < 2:
            continue
        since = [
            next(
                (
                    b["time"]
                    for a, b in reversed([*pairwise(by_node[node])])
                    if a["leader_epoch"] != b["leader_epoch"]
                ),
                by_node[node][0]["time"],
            )
            for node in present
        ]
        count += min(present.values()) - max(since) > LIMIT
    return count


RANDOM = follower_history
ORACLES: dict[str, Oracle] = {
    "replica-below-watermark": short_followers,
    "unexplained-log-start": unexplained_starts,
    "log-start-regression": starts_that_went_back,
    "acks-below-min-isr": acks_of_short_isrs,
    "metadata-disagreement": disagreements,
}
