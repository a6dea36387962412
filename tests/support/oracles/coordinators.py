"""The definitions of what coordinators must not report, in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.support.oracles.replication import is_before, samples
from tests.support.oracles.rows import Oracle, Row, Tables
from tests.support.random_histories.coordinators import coordinator_history
from workloads.history.schema import NEMESIS

STEPS = {"Ongoing": 0, "Prepare": 1, "Complete": 2}


def reports(tables: Tables, kind: str) -> list[Row]:
    return [o | json.loads(o["value"]) for o in samples(tables, kind) if o["connection"] is not None]


def earlier(rows: list[Row], one: Row, *same: str) -> Iterator[Row]:
    """What the same process had reported before, with these values."""
    for other in rows:
        if is_before(other, one) and all(other[name] == one[name] for name in ("node", "connection", *same)):
            yield other


def conflicts(tables: Tables) -> int:
    count = 0
    for o in reports(tables, "group_state"):
        fits = {"Empty": False, "Dead": False, "Stable": True, "Assigning": True, "Reconciling": True}
        if fits.get(o["state"], bool(o["members"])) != bool(o["members"]):
            count += 1
        elif o["epoch"] is not None and o["assigned_epoch"] is not None:
            is_assigned = o["assigned_epoch"] >= o["epoch"]
            expected = {"Assigning": False, "Stable": True, "Reconciling": True}.get(o["state"], is_assigned)
            wrong = o["type"] == "consumer" and is_assigned != expected
            count += wrong or o["assigned_epoch"] > o["epoch"]
    return count


def group_regressions(tables: Tables) -> int:
    rows = [o for o in reports(tables, "group_state") if o["epoch"] is not None]
    return sum(any(a["epoch"] > b["epoch"] for a in earlier(rows, b, "group")) for b in rows)


def rebalances(tables: Tables) -> int:
    rows = [o for o in reports(tables, "group_state") if o["type"] == "classic" and o["epoch"] is not None]
    changes = [
        o["invoked"] for o in tables["operations"] if o["process"] == NEMESIS or o["f"] == "alter"
    ]  # fmt: skip
    count = 0
    for one in rows:
        before = [
            other for other in rows
            if other["time"] < one["time"]
            and all(other[name] == one[name] for name in ("node", "connection", "group"))
        ]  # fmt: skip
        last = max(before, key=lambda other: other["time"], default=None)
        if (
            last is None
            or last["epoch"] + 1 != one["epoch"]
            or last["members"].keys() != one["members"].keys()
        ):
            continue
        is_cooperative = (one["protocol"] or "").startswith("cooperative")
        count += not is_cooperative and not any(at <= one["time"] for at in changes)
    return count


def position_regressions(tables: Tables) -> int:
    rows = reports(tables, "group_state")
    return sum(
        any(
            a["positions"].get(log, -1) > position and a["members"].keys() == b["members"].keys()
            for a in earlier(rows, b, "group", "epoch")
        )
        for b in rows
        for log, position in b["positions"].items()
    )


def step(row: Row) -> tuple[int | None, str]:
    """How far a transaction is, and its outcome."""
    for name, number in STEPS.items():
        if row["state"].startswith(name):
            return number, row["state"].removeprefix(name) if number else ""
    return None, ""


def transaction_regressions(tables: Tables) -> int:
    rows = [o for o in reports(tables, "transaction") if o["started"] >= 0]
    count = 0
    for b in rows:
        number, outcome = step(b)
        before = [step(a) for a in earlier(rows, b, "transactional_id", "producer_id", "started")]
        reached = [each for each in before if each[0] is not None]
        if number is None or not reached:
            continue
        furthest = max(reached)
        count += number < furthest[0] or bool(outcome and furthest[1] and outcome != furthest[1])
    return count


def epoch_regressions(tables: Tables) -> int:
    rows = reports(tables, "transaction")
    return sum(
        any(a["epoch"] > b["epoch"] for a in earlier(rows, b, "transactional_id", "producer_id"))
        for b in rows
    )


RANDOM = coordinator_history
ORACLES: dict[str, Oracle] = {
    "group-state-conflict": conflicts,
    "group-epoch-regression": group_regressions,
    "unexplained-rebalance": rebalances,
    "position-regression": position_regressions,
    "transaction-state-regression": transaction_regressions,
    "producer-epoch-regression": epoch_regressions,
}
