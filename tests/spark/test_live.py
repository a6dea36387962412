"""Judging while a run goes on: nothing is said that the verdict does not find, and what happened is said at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from logs_drawn import drawn, told
from transactions_drawn import transacted

from analyzers.checks import CHECKS
from analyzers.facts import NEEDS
from analyzers.find import find
from analyzers.live import EITHER, LATER, LIVE, find_live
from workloads.history.schema import TABLES
from workloads.history.window import certain

pytestmark = pytest.mark.spark

Row = dict[str, Any]
WINDOWS = 3


def test_of_every_check_is_known_whether_it_can_be_judged_meanwhile() -> None:
    assert sorted([*LIVE, *LATER]) == sorted(check.anomaly for check in CHECKS)
    assert LIVE.keys() > EITHER


# --- windows of random histories ------------------------------------------------------------


def written(records: list[Row], random: random.Random) -> Iterator[tuple[float, Row]]:
    """What the processes write, and when: invocations before their sends, completions some time later."""
    for row in records:
        row = row | {"previous": None, "within": None}
        if row["f"] == "poll":
            yield row["index"], row
            continue
        yield row["index"], row | {"type": "invoke", "completed": None, "offset": None}
        if row["type"] != "info":
            yield row["index"] + random.choice([0, 0, 0, 1.5, 3.5]), row


def cut(rows: list[Row], random: random.Random) -> list[Row]:
    """Of each process's rows some that follow each other, more often than not from the start or to the end."""
    kept = []
    for process in {row["process"] for row in rows}:
        mine = [row for row in rows if row["process"] == process]
        begin = random.choice([0, 0, random.randint(0, len(mine))])
        kept += mine[begin : random.choice([len(mine), random.randint(begin, len(mine))])]
    return kept


def window(tables: dict[str, list[Row]], run: str, seed: str) -> dict[str, pa.Table]:
    chance = random.Random(seed)
    rows = [row for _, row in sorted(written(tables["records"], chance), key=lambda each: each[0])]
    parts = {"records": cut(rows, chance), "operations": cut(tables["operations"], chance)}
    made = {
        name: pa.Table.from_pylist([row | {"run": run} for row in part], schema=TABLES[name])
        for name, part in parts.items()
    }
    return made | {"records": certain(made["records"])}


@pytest.mark.parametrize(
    ("strategy", "histories", "over"),
    [(told, 400, None), (transacted, 150, "txn")],
)
def test_what_is_found_in_a_window_is_found_in_the_whole(
    story: Any, loaded: Any, spark: Any, strategy: Any, histories: int, over: str | None
) -> None:
    stories = drawn(strategy(story), histories)
    checks = [check for check in CHECKS if check.anomaly in LIVE and NEEDS.get(check.over) in {None, over}]
    found, crashed = find(loaded(stories), checks, examples=0)
    assert not crashed
    whole = {
        (one.run, name) for one in found for name in (EITHER if one.anomaly in EITHER else {one.anomaly})
    }
    windows = [
        window(one.rows(run), f"{run}/{n}", f"{run}/{n}")
        for run, one in stories.items()
        for n in range(WINDOWS)
    ]
    together = {name: pa.concat_tables(each[name] for each in windows) for name in windows[0]}
    live, crashed = find_live(spark, together, told={})
    assert not crashed
    met = dict.fromkeys((check.anomaly for check in checks), 0)
    for one in live:
        met[one.anomaly] += 1
        assert (one.run.partition("/")[0], one.anomaly) in whole, (
            one,
            stories[one.run.partition("/")[0]].rows("h"),
        )
    # A part that shows nothing refutes nothing.
    shown = {"precommitted-read", "G1a", "future-read"} if over else met.keys() - {"precommitted-read"}
    assert {anomaly: met[anomaly] for anomaly in shown if met[anomaly] < 5} == {}
