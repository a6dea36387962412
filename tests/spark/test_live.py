"""Live judging: reports in the next round, and reports nothing that the verdict does not find."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analyzers.catalogue.check import Check, CycleCheck, Live
from analyzers.catalogue.registry import ANOMALIES, BOUND_CHECKS, CHECKS, CYCLE_CHECKS
from analyzers.judge.find import CheckResult, find
from analyzers.judge.live import EITHER, LIVE, Reported, find_live, live_checks
from pytest_kafkacheck.experiment.judging import LiveJudge
from tests.support.live_windows import as_recorded, deletes_records, segment_rows, windows
from tests.support.random_histories.groups import group_history
from tests.support.random_histories.logs import draw_histories, log_history
from tests.support.random_histories.queues import queue_history
from tests.support.random_histories.transactions import transaction_history
from tests.support.random_histories.truncations import truncated_history
from tests.support.repetitions import repetitions
from tests.support.segments import ManualClock, poll, record, seal, sealing_writer
from tests.support.stories.recreations import recreated_topic, went_back_before_a_recreation
from workloads.history.live.window import Carried
from workloads.history.schema import TABLES

pytestmark = pytest.mark.spark

Row = dict[str, Any]
WINDOWS = 3

COMPARED = [check for check in CHECKS if check.name in {name for some in EITHER.values() for name in some}]
"""Checks of whole histories with which findings during a run are compared."""


# --- declarations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check", [*CHECKS, *BOUND_CHECKS.values(), *CYCLE_CHECKS], ids=lambda check: check.name
)
def test_each_check_says_why_it_is_judged_live_or_why_not(check: Check | CycleCheck) -> None:
    assert check.live.because.endswith(".")
    if isinstance(check.live, Live):
        assert check.name in LIVE, "bounds and cycles are not judged live"
        assert set(check.live.per) <= check.anomaly.evidence.keys()
        assert not check.live.either or check.name in check.live.either
        assert check.live.either <= ANOMALIES.keys()


def test_anomalies_that_a_part_of_the_history_cannot_tell_apart_have_one_count() -> None:
    assert (
        EITHER["offset-reuse"] == EITHER["inconsistent-offsets"] == {"offset-reuse", "inconsistent-offsets"}
    )
    assert EITHER["duplicate"] == {"duplicate"}
    reported = Reported(most=3)
    found = CheckResult(run="r", anomaly="offset-reuse", count=1, examples=(conflict_at(5),))
    assert reported.new(found) == found
    assert reported.new(replace(found, anomaly="inconsistent-offsets")) is None


def conflict_at(offset: int) -> Row:
    return {"topic": "t", "partition": 0, "time": 1, "offset": offset}


def test_of_many_findings_no_more_are_told_apart() -> None:
    reported = Reported(most=3)
    many = CheckResult(run="r", anomaly="offset-reuse", count=2, examples=(conflict_at(1), conflict_at(2)))
    assert reported.new(many) == many
    assert reported.full == set()
    more = replace(many, count=9, examples=tuple(map(conflict_at, (2, 3, 4))))
    counted = reported.new(more)
    assert counted is not None
    assert (counted.count, counted.examples) == (7, more.examples[1:])
    assert reported.full == {"offset-reuse", "inconsistent-offsets"}
    names = {check.name for check in live_checks(keeps_records=True, full=reported.full)}
    assert names == LIVE.keys() - reported.full


def test_where_records_are_to_be_deleted_less_is_certain() -> None:
    every, fewer = ({check.name for check in live_checks(keeps_records=keeps)} for keeps in (True, False))
    assert every - fewer == {"lost-write", "poll-skip", "int-poll-skip", "read-your-writes"}


# --- windows of random histories ------------------------------------------------------------


def step(anomaly: str, shown: Mapping[str, Any]) -> tuple[Any, ...]:
    """What identifies a finding."""
    live = LIVE[anomaly]
    return tuple(shown.get(name) for name in ("topic", "partition", "group", *live.per))


def judged_live(
    spark: Any, stories: Mapping[str, Any], *, number: int, keeps_records: bool, seed: int = 0
) -> list[CheckResult]:
    """What is found live in all of these histories."""
    each = {run: windows(one, run, number=number, seed=f"{run}/{seed}") for run, one in stories.items()}
    reported, found = Reported(), []
    for at in range(number) if each else ():
        together = {
            name: pa.concat_tables(of_run[at][name] for of_run in each.values())
            for name in ("records", "operations")
        }
        now, crashed = find_live(spark, together, reported, keeps_records=keeps_records)
        assert not crashed
        found += now
    return found


@pytest.mark.parametrize(
    ("strategy", "histories", "shown"),
    [
        pytest.param(
            log_history,
            400,
            {
                "duplicate", "inconsistent-offsets", "G1a", "future-read", "realtime-order", "monotonic-reads",
                "monotonic-writes", "writes-follow-reads", "nonmonotonic-poll", "int-nonmonotonic-poll",
                "nonmonotonic-send", "foreign-record", "corrupt-record", "int-send-skip",
            },
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            transaction_history,
            150,
            {"precommitted-read", "G1a", "future-read"},
            marks=pytest.mark.nightly,
        ),
        (
            truncated_history,
            repetitions(400, shorter=40),
            {"lost-write", "poll-skip", "read-your-writes", "inconsistent-offsets", "realtime-order"},
        ),
        pytest.param(
            group_history, 400, {"unfenced-commit", "double-ownership"}, marks=pytest.mark.nightly
        ),
        pytest.param(
            queue_history, 300, {"queue-redelivery", "queue-delivery-count"}, marks=pytest.mark.nightly
        ),
    ],
)  # fmt: skip
def test_a_finding_during_the_run_is_also_one_in_the_whole_history(
    story: Any, loaded: Any, spark: Any, strategy: Any, histories: int, shown: set[str]
) -> None:
    stories = {run: as_recorded(one) for run, one in draw_histories(strategy(story), histories).items()}
    found, crashed = find(loaded(stories), COMPARED, examples=100)
    assert not crashed
    whole = {(one.run, one.anomaly) for one in found}
    exact = {
        (one.run, one.anomaly, *step(one.anomaly, each))
        for one in found
        if one.anomaly in LIVE
        for each in one.examples
    }
    met = dict.fromkeys(LIVE, 0)
    for keeps in (True, False):
        some = {run: one for run, one in stories.items() if deletes_records(one) is not keeps}
        for one in judged_live(spark, some, number=WINDOWS, keeps_records=keeps):
            met[one.anomaly] += 1
            assert {(one.run, name) for name in EITHER[one.anomaly]} & whole, (
                one,
                stories[one.run].rows("h"),
            )
            if EITHER[one.anomaly] == {one.anomaly}:
                # The whole history has this very finding, not only one of the same kind.
                these = {(one.run, one.anomaly, *step(one.anomaly, each)) for each in one.examples}
                assert these <= exact, (one, stories[one.run].rows("h"))
    # Windows without findings would prove nothing.
    enough = repetitions(3, shorter=1)
    assert {anomaly: met[anomaly] for anomaly in shown if met[anomaly] < enough} == {}


def as_segments(name: str, tables: dict[str, list[Row]]) -> pa.Table:
    rows = tables[name]
    return pa.Table.from_pylist(segment_rows(rows) if name == "records" else rows, schema=TABLES[name])


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
    windows = [
        Carried().join(*map(as_segments, ("records", "operations"), [tables] * 2)) for tables in stories
    ]
    together = {name: pa.concat_tables(each[name] for each in windows) for name in windows[0]}
    live, crashed = find_live(spark, together, Reported(), keeps_records=False)
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


def judging() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "kafkacheck-live"]


def lines(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "live.jsonl").read_text().splitlines()]


def test_a_finding_is_reported_once_in_the_next_round(spark: Any, tmp_path: Path) -> None:
    """While processes go on writing, each round sees the sealed segments and reports only new anomalies."""
    clock, messages = ManualClock(), []
    session = Session(spark)
    judge = LiveJudge(tmp_path, session, say=messages.append, allowed=["duplicate"])
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
    calls = session.calls
    judge.round()
    assert session.calls == calls, "no new segment, no query"
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

    with LiveJudge(tmp_path, Session(spark), say=say, every=0.05):
        writer = sealing_writer(tmp_path, clock)
        writer.append(**poll(0, 3, 50))
        writer.append(**poll(1, 2, 51))
        seal(writer, clock)
        assert has_reported.wait(120)
    assert judging() == []
    assert "live: nonmonotonic-poll: 1 " in messages[0]


def test_a_failing_judge_is_reported_once_and_keeps_running(tmp_path: Path) -> None:
    class Broken:
        def session(self, *, rows: int | None = None) -> Any:  # noqa: ARG002
            raise RuntimeError("no Java")

    clock, pause = ManualClock(), threading.Event()
    messages: list[str] = []
    with LiveJudge(tmp_path, Broken(), say=messages.append, every=0.01):
        for number in range(3):
            writer = sealing_writer(tmp_path, clock, process=number)
            writer.append(**poll(0, 0, 1, process=number))
            seal(writer, clock)
            pause.wait(0.2)
        assert len(judging()) == 1
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
    (thread,) = judging()
    may_end.set()
    thread.join(30)
    assert judging() == []
