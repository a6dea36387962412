"""Live judging: reports in the next round, and reports nothing that the verdict does not find."""

from __future__ import annotations

import contextlib
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
from tests.support.random_histories.logs import draw_histories, log_history
from tests.support.random_histories.transactions import transaction_history
from tests.support.repetitions import repetitions
from tests.support.segments import ManualClock, poll, record, seal, sealing_writer
from tests.support.stories.recreations import recreated_topic, went_back_before_a_recreation
from workloads.history.schema import TABLES
from workloads.history.window import certain

pytestmark = pytest.mark.spark

Row = dict[str, Any]
WINDOWS = 3


def test_anomalies_that_a_part_of_the_history_cannot_tell_apart_name_each_other() -> None:
    assert any(EITHER.values())
    for name, either in EITHER.items():
        assert not either or (name in either and all(EITHER[other] == either for other in either))


# --- windows of random histories ------------------------------------------------------------


def recorded(records: list[Row], random: random.Random) -> Iterator[tuple[float, Row]]:
    """The rows that the processes record, each with a time: invocations first, completions some time later."""
    for row in records:
        row = row | {"previous": None, "within": None}
        if row["f"] == "poll":
            yield row["index"], row
            continue
        yield row["index"], row | {"type": "invoke", "completed": None, "offset": None}
        if row["type"] != "info":
            yield row["index"] + random.choice([0, 0, 0, 1.5, 3.5]), row


def part_of(rows: list[Row], random: random.Random) -> list[Row]:
    """A contiguous part of each process's rows; often it includes the first or the last row."""
    selected = []
    for process in {row["process"] for row in rows}:
        mine = [row for row in rows if row["process"] == process]
        begin = random.choice([0, 0, random.randint(0, len(mine))])
        selected += mine[begin : random.choice([len(mine), random.randint(begin, len(mine))])]
    return selected


def window(tables: dict[str, list[Row]], run: str, seed: str) -> dict[str, pa.Table]:
    chance = random.Random(seed)
    rows = [row for _, row in sorted(recorded(tables["records"], chance), key=lambda each: each[0])]
    operations = part_of(tables["operations"], chance)
    # A window has the rows of topics from its beginning.
    topics = [row for row in tables["operations"] if row["f"] == "topic" and row not in operations]
    parts = {"records": part_of(rows, chance), "operations": topics + operations}
    made = {
        name: pa.Table.from_pylist([row | {"run": run} for row in part], schema=TABLES[name])
        for name, part in parts.items()
    }
    return made | {"records": certain(made["records"])}


def step(anomaly: str, shown: Mapping[str, Any]) -> tuple[Any, ...]:
    """What identifies a finding. The record that was skipped does not: the whole history may name another one."""
    return anomaly, *(
        shown.get(name) for name in ("topic", "partition", "time", "process", "op", "offset", "previous")
    )


@pytest.mark.parametrize(
    ("strategy", "histories", "over"),
    [
        pytest.param(log_history, 250, "read", marks=pytest.mark.nightly),
        (transaction_history, repetitions(100, shorter=25), "txn"),
    ],
)
def test_a_finding_in_a_window_is_also_one_in_the_whole_history(
    story: Any, loaded: Any, spark: Any, strategy: Any, histories: int, over: str
) -> None:
    stories = draw_histories(strategy(story), histories)
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
    live, crashed = find_live(spark, together, after={})
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
            # The whole history has this very step, not only one of the same kind.
            assert {(run, *step(one.anomaly, shown)) for shown in one.examples} <= steps, (
                one,
                stories[run].rows("h"),
            )
    # Windows without findings would prove nothing.
    shown = (
        {"precommitted-read", "G1a", "future-read"} if over == "txn" else met.keys() - {"precommitted-read"}
    )
    assert {anomaly: met[anomaly] for anomaly in shown if met[anomaly] < 5} == {}


def test_a_topic_that_was_created_again_is_another_log(story: Any, spark: Any) -> None:
    """Also while the rows of its creation, or of the fault that proves it, are not recorded yet."""
    stories = [make(story()).rows(make.__name__) for make in (recreated_topic, went_back_before_a_recreation)]
    for run, missing in (
        ("not created", ("recreate-topic", "recreated")),
        ("not proved", ("recreate-topic",)),
    ):
        tables = recreated_topic(story()).rows(run)
        known = [
            row
            for row in tables["operations"]
            if not any(
                name in (row["f"], json.loads(row.get("value") or "{}").get("event")) for name in missing
            )
        ]
        stories.append(tables | {"operations": known})
    windows = []
    for tables in stories:
        rows = [
            row for _, row in sorted(recorded(tables["records"], random.Random(0)), key=lambda one: one[0])
        ]
        operations = pa.Table.from_pylist(tables["operations"], schema=TABLES["operations"])
        records = certain(pa.Table.from_pylist(rows, schema=TABLES["records"]))
        windows.append({"records": records, "operations": operations})
    together = {name: pa.concat_tables(each[name] for each in windows) for name in windows[0]}
    live, crashed = find_live(spark, together, after={})
    assert not crashed
    found = {(one.run, one.anomaly) for one in live}
    assert found == {("went_back_before_a_recreation", "nonmonotonic-poll")}


# --- the thread --------------------------------------------------------------------------------


class Session:
    def __init__(self, spark: Any) -> None:
        self.spark, self.calls = spark, 0

    def session(self, *, rows: int | None = None) -> Any:  # noqa: ARG002
        self.calls += 1
        return self.spark


def lines(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "live.jsonl").read_text().splitlines()]


def test_a_finding_is_reported_once_in_the_next_round(spark: Any, tmp_path: Path) -> None:
    """While processes go on writing, each round sees the sealed segments and reports only new anomalies."""
    clock, messages = ManualClock(), []
    judge = LiveJudge(tmp_path, Session(spark), say=messages.append, allowed=["duplicate"])
    writer = sealing_writer(tmp_path, clock)
    second = 1_000_000_000
    writer.append(**poll(0, 0, 50, at=second))
    writer.append(**poll(1, 1, 51, at=2 * second))
    seal(writer, clock)
    judge.round()
    assert messages == []
    writer.append(**poll(2, 0, 52, process=5, at=3 * second, assignment=2))
    judge.round()
    assert messages == [], "its segment is still open"
    seal(writer, clock)
    judge.round()
    assert len(messages) == 1
    assert messages[0].startswith("live: inconsistent-offsets or offset-reuse: 1 offset that held")
    assert not (tmp_path / "verdict.json").exists()
    calls = judge._spark.calls
    judge.round()
    assert judge._spark.calls == calls, "no new segment, no query"
    writer.append(**poll(3, 5, 50, at=4 * second, assignment=3))
    seal(writer, clock)
    judge.round()
    assert len(messages) == 2
    assert messages[1].startswith("live: duplicate (allowed): 1 ")
    writer.append(**poll(4, 9, 53, at=5 * second, assignment=4))
    writer.append(**poll(5, 9, 54, at=6 * second, assignment=5))
    seal(writer, clock)
    judge.round()
    assert len(messages) == 2, "an anomaly is reported once"
    reported = [(line["anomaly"], line["count"]) for line in lines(tmp_path)]
    assert reported == [("inconsistent-offsets", 1), ("duplicate", 1), ("inconsistent-offsets", 1)]
    assert [line["examples"][0]["offset"] for line in lines(tmp_path)] == [0, 0, 9]


def test_moments_and_spans_are_written_in_seconds(spark: Any, tmp_path: Path) -> None:
    clock, second = ManualClock(), 1_000_000_000
    judge = LiveJudge(tmp_path, Session(spark), say=lambda _: None)
    writer = sealing_writer(tmp_path, clock, process=0)
    for sequence, (offset, invoked, completed) in enumerate([(5, 10, 11), (4, 13, 15)]):
        times = {"invoked": invoked * second, "completed": completed * second}
        sent = {"index": sequence, "op": sequence, "value": sequence, "offset": offset}
        writer.append(**record(f="send", process=0, **sent, **times))
    seal(writer, clock)
    judge.round()
    (line,) = [each for each in lines(tmp_path) if each["anomaly"] == "realtime-order"]
    (example,) = line["examples"]
    assert line["judged_to"] == 5, "the last completion, 5 s after the first operation"
    assert example["time"] == 5
    assert example["stale"] == 2, "invoked 2 s after the acknowledgement of a higher offset"


def test_the_thread_reports_and_ends(spark: Any, tmp_path: Path) -> None:
    clock, has_reported = ManualClock(), threading.Event()
    messages: list[str] = []

    def say(line: str) -> None:
        messages.append(line)
        has_reported.set()

    with LiveJudge(tmp_path, Session(spark), say=say, every=0.05) as judge:
        writer = sealing_writer(tmp_path, clock)
        writer.append(**poll(0, 3, 50))
        writer.append(**poll(1, 2, 51))
        seal(writer, clock)
        assert has_reported.wait(120)
    assert not judge._thread.is_alive()
    assert "live: nonmonotonic-poll: 1 " in messages[0]


def test_a_failing_judge_is_reported_once_and_keeps_running(tmp_path: Path) -> None:
    class Broken:
        def session(self, *, rows: int | None = None) -> Any:  # noqa: ARG002
            raise RuntimeError("no Java")

    clock, pause = ManualClock(), threading.Event()
    messages: list[str] = []
    with LiveJudge(tmp_path, Broken(), say=messages.append, every=0.01) as judge:
        for number in range(3):
            writer = sealing_writer(tmp_path, clock, process=number)
            writer.append(**poll(0, 0, 1, process=number))
            seal(writer, clock)
            pause.wait(0.2)
        assert judge._thread.is_alive()
    assert len(messages) == 1
    assert "no Java" in messages[0]


def test_an_interrupt_does_not_wait_for_a_round(tmp_path: Path) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    class Slow:
        def session(self, *, rows: int | None = None) -> Any:  # noqa: ARG002
            has_begun.set()
            may_end.wait(60)
            raise RuntimeError("the session was stopped")

    clock = ManualClock()
    judge = LiveJudge(tmp_path, Slow(), say=print, every=0.01)
    with contextlib.suppress(KeyboardInterrupt), judge:
        writer = sealing_writer(tmp_path, clock)
        writer.append(**poll(0, 0, 1))
        seal(writer, clock)
        assert has_begun.wait(30)
        raise KeyboardInterrupt
    assert judge._thread.is_alive()
    may_end.set()
    judge._thread.join(30)
    assert not judge._thread.is_alive()
