"""Judging while a run goes on: nothing is said that the verdict does not find, and what happened is said at once."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analyzers.catalogue.registry import CHECKS
from analyzers.facts.fact import SENDS_AND_POLLS
from analyzers.facts.registry import NEEDS
from analyzers.judge.find import find
from analyzers.judge.live import LIVE, find_live
from pytest_kafkacheck.experiment.live import EITHER, LiveJudge
from tests.support.random_histories.logs import drawn, told
from tests.support.random_histories.transactions import transacted
from tests.support.segments import ManualClock, poll, seal, sealing_writer
from workloads.history.schema import TABLES
from workloads.history.window import certain

pytestmark = pytest.mark.spark

Row = dict[str, Any]
WINDOWS = 3


def test_anomalies_that_a_part_of_the_history_cannot_tell_apart_name_one_another() -> None:
    assert any(EITHER.values())
    for name, either in EITHER.items():
        assert not either or (name in either and all(EITHER[other] == either for other in either))


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


def step(anomaly: str, shown: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a finding is about. (What was skipped over may be told better by the whole.)"""
    return anomaly, *(
        shown.get(name) for name in ("topic", "partition", "time", "process", "op", "offset", "previous")
    )


@pytest.mark.parametrize(
    ("strategy", "histories", "over"),
    [(told, 250, "read"), (transacted, 100, "txn")],
)
def test_what_is_found_in_a_window_is_found_in_the_whole(
    story: Any, loaded: Any, spark: Any, strategy: Any, histories: int, over: str
) -> None:
    stories = drawn(strategy(story), histories)
    checks = [
        check
        for check in CHECKS
        if check.live is not None and NEEDS.get(check.over) in {None, over, SENDS_AND_POLLS}
    ]
    found, crashed = find(loaded(stories), checks, examples=100)
    assert not crashed
    whole = {(one.run, name) for one in found for name in (EITHER[one.anomaly] or {one.anomaly})}
    steps = {(one.run, *step(one.anomaly, shown)) for one in found for shown in one.examples}
    windows = [
        window(one.rows(run), f"{run}/{n}", f"{run}/{n}")
        for run, one in stories.items()
        for n in range(WINDOWS)
    ]
    together = {name: pa.concat_tables(each[name] for each in windows) for name in windows[0]}
    live, crashed = find_live(spark, together, told={})
    assert not crashed
    met = dict.fromkeys((check.name for check in checks), 0)
    for one in live:
        met[one.anomaly] += 1
        run = one.run.partition("/")[0]
        assert (run, one.anomaly) in whole, (
            one,
            stories[run].rows("h"),
        )
        if "step" in LIVE[one.anomaly]:
            # Not only some step of that kind: this one.
            assert {(run, *step(one.anomaly, shown)) for shown in one.examples} <= steps, (
                one,
                stories[run].rows("h"),
            )
    # A part that shows nothing refutes nothing.
    shown = (
        {"precommitted-read", "G1a", "future-read"} if over == "txn" else met.keys() - {"precommitted-read"}
    )
    assert {anomaly: met[anomaly] for anomaly in shown if met[anomaly] < 5} == {}


# --- the thread --------------------------------------------------------------------------------


class Session:
    def __init__(self, spark: Any) -> None:
        self.spark, self.asked = spark, 0

    def session(self, *, rows: int | None = None) -> Any:  # noqa: ARG002
        self.asked += 1
        return self.spark


def lines(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "live.jsonl").read_text().splitlines()]


def test_what_happened_is_said_in_the_next_round_and_once(spark: Any, tmp_path: Path) -> None:
    """The processes of a run write on; each round sees what is sealed and says only what is new."""
    clock, said = ManualClock(), []
    judge = LiveJudge(tmp_path, Session(spark), say=said.append, allowed=["duplicate"])
    writer = sealing_writer(tmp_path, clock)
    second = 1_000_000_000
    writer.append(**poll(0, 0, 50, at=second))
    writer.append(**poll(1, 1, 51, at=2 * second))
    seal(writer, clock)
    judge.round()
    assert said == []
    writer.append(**poll(2, 0, 52, process=5, at=3 * second, assignment=2))
    judge.round()
    assert said == [], "it is in a segment that is open"
    seal(writer, clock)
    judge.round()
    assert len(said) == 1
    assert said[0].startswith("live: inconsistent-offsets or offset-reuse: 1 offset that held")
    assert not (tmp_path / "verdict.json").exists()
    asked = judge._spark.asked
    judge.round()
    assert judge._spark.asked == asked, "nothing new, nothing asked"
    writer.append(**poll(3, 5, 50, at=4 * second, assignment=3))
    seal(writer, clock)
    judge.round()
    assert len(said) == 2
    assert said[1].startswith("live: duplicate (allowed): 1 ")
    writer.append(**poll(4, 9, 53, at=5 * second, assignment=4))
    writer.append(**poll(5, 9, 54, at=6 * second, assignment=5))
    seal(writer, clock)
    judge.round()
    assert len(said) == 2, "an anomaly is said once"
    told = [(line["anomaly"], line["count"]) for line in lines(tmp_path)]
    assert told == [("inconsistent-offsets", 1), ("duplicate", 1), ("inconsistent-offsets", 1)]
    assert [line["examples"][0]["offset"] for line in lines(tmp_path)] == [0, 0, 9]


def test_the_thread_says_it_and_ends(spark: Any, tmp_path: Path) -> None:
    clock, told = ManualClock(), threading.Event()
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        told.set()

    with LiveJudge(tmp_path, Session(spark), say=say, every=0.05) as judge:
        writer = sealing_writer(tmp_path, clock)
        writer.append(**poll(0, 3, 50))
        writer.append(**poll(1, 2, 51))
        seal(writer, clock)
        assert told.wait(120)
    assert not judge._thread.is_alive()
    assert "live: nonmonotonic-poll: 1 " in said[0]


def test_a_judge_that_fails_is_said_once_and_ends_nothing(tmp_path: Path) -> None:
    class Broken:
        def session(self, *, rows: int | None = None) -> Any:  # noqa: ARG002
            raise RuntimeError("no Java")

    clock, tried = ManualClock(), threading.Event()
    said: list[str] = []
    with LiveJudge(tmp_path, Broken(), say=said.append, every=0.01) as judge:
        for number in range(3):
            writer = sealing_writer(tmp_path, clock, process=number)
            writer.append(**poll(0, 0, 1, process=number))
            seal(writer, clock)
            tried.wait(0.2)
        assert judge._thread.is_alive()
    assert len(said) == 1
    assert "no Java" in said[0]
