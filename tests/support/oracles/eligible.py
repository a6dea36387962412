"""The definitions of what eligible leader replicas must not be, in plain Python."""

from __future__ import annotations

import json
from typing import Any

from tests.support.oracles.replication import allows_unclean, samples, settings_of
from tests.support.oracles.rows import Oracle, Tables, log
from tests.support.random_histories.eligible import eligible_history
from workloads.history.schema import NEMESIS


def min_isr(tables: Tables, topic: str) -> int | None:
    """The highest setting; None if it is not known for sure."""
    if any(
        o["f"].startswith("configure") and "min.insync.replicas" in o["value"] for o in tables["operations"]
    ):
        return None
    seen = [each.get("min.insync.replicas") for each in settings_of(tables, topic)]
    return max((int(each) for each in seen if each is not None), default=None)


def conflicts(tables: Tables) -> int:
    count = 0
    for o in samples(tables, "eligible"):
        eligible, least = json.loads(o["value"])["eligible"], min_isr(tables, o["topic"])
        is_enough = bool(eligible) and least is not None and len(o["isr"]) >= least
        count += is_enough or bool({*eligible} & {*o["isr"]})
    return count


def ineligible_leaders(tables: Tables) -> int:
    named: dict[Any, int] = {}
    for o in (*samples(tables), *samples(tables, "eligible")):
        if o["leader"] >= 0:
            key = log(o), o["leader_epoch"], o["leader"]
            named[key] = min(named.get(key, o["time"]), o["time"])
    forced = [
        o["invoked"] for o in tables["operations"] if o["process"] == NEMESIS and "unclean" in (o.get("value") or "")
    ]  # fmt: skip
    count = 0
    for (of, epoch, leader), at in named.items():
        before = [
            json.loads(o["value"])
            for o in samples(tables, "eligible")
            if (log(o), o["leader_epoch"], o["leader"], o["isr"]) == (of, epoch - 1, -1, [])
        ]
        is_eligible = all(leader in each["eligible"] for each in before)
        is_known = any(leader in each["last_known"] for each in before)
        topic = next(o["topic"] for o in (*samples(tables), *samples(tables, "eligible")) if log(o) == of)
        is_excused = allows_unclean(tables, topic) or any(since <= at for since in forced)
        count += bool(before) and not (is_eligible or is_known or is_excused)
    return count


RANDOM = eligible_history
ORACLES: dict[str, Oracle] = {"eligible-conflict": conflicts, "ineligible-leader": ineligible_leaders}
