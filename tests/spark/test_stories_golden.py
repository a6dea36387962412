"""The story of each class of failure, word for word, as tests/data/stories has it; all judged in one job."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.causes.story import story as story_of
from analyzers.checks.applications import DUPLICATE_COPY
from analyzers.checks.durability import LOST_WRITE
from analyzers.checks.sessions import READ_YOUR_WRITES
from analyzers.history.surroundings import Surroundings
from analyzers.history.validate import run_ids
from analyzers.judge import causes
from analyzers.judge.analyze import analyze
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from tests.support.stories.copies import copied_twice
from tests.support.stories.failing_applications import FAILING_APPLICATIONS
from tests.support.stories.failures import FAILURES, isolated_leader, seen
from tests.support.stories.sessions import own_write_missed
from tests.support.stories.unexplained_settings import UNEXPLAINED, isolated_leader_unseen
from workloads.history.schema import NEMESIS

pytestmark = pytest.mark.spark

DATA = Path(__file__).parents[1] / "data"
MADE = (*FAILURES, *UNEXPLAINED, *FAILING_APPLICATIONS)
RECORDED = sorted(each for each in (DATA / "runs").iterdir() if each.is_dir())
"""Recorded on real clusters, at a low rate; see the README there."""


@pytest.fixture(scope="module")
def verdicts(
    spark: Any, write: Any, story: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Verdict]:
    made = write(tmp_path_factory.mktemp("runs") / "run", {make.__name__: make(story()) for make in MADE})
    surroundings = {
        run: Surroundings(settings=RunDirectory(home).read_judging_rules().settings)
        for home in RECORDED
        for run in run_ids(home)
    }
    return analyze(spark, [made, *RECORDED], surroundings=surroundings)


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_each_failure_tells_its_story(verdicts: dict[str, Verdict], make: Callable[[Any], Any]) -> None:
    expected = (DATA / "stories" / f"{make.__name__}.txt").read_text()
    assert story_of(verdicts[make.__name__]) + "\n" == expected
    assert len(expected.splitlines()) <= 15


@pytest.mark.parametrize("home", RECORDED, ids=lambda home: home.name)
def test_each_recorded_run_tells_its_story(verdicts: dict[str, Verdict], home: Path) -> None:
    assert_tells(verdicts, home, home.name, allowed=set())


def test_where_losses_are_allowed_a_torn_transaction_leads_its_story(verdicts: dict[str, Verdict]) -> None:
    allowed = {"lost-write", "nonmonotonic-send", "realtime-order"}
    assert_tells(verdicts, DATA / "runs" / "torn_transfer", "torn_transfer_alone", allowed=allowed)


def assert_tells(verdicts: dict[str, Verdict], home: Path, story: str, *, allowed: set[str]) -> None:
    """allowed: in addition to what the experiment allows."""
    (run,) = run_ids(home)
    rules, verdict = RunDirectory(home).read_judging_rules(), verdicts[run]
    as_judged = replace(
        verdict,
        findings=tuple(
            replace(each, allowed=each.anomaly in {*rules.allowed, *allowed}) for each in verdict.findings
        ),
    )
    expected = (DATA / "stories" / f"{story}.txt").read_text()
    assert story_of(as_judged) + "\n" == expected
    assert len(expected.splitlines()) <= 15


def test_a_history_without_samples_has_its_causes_all_the_same(judged: Any, story: Any) -> None:
    """An offset that was given twice, and the leader epochs of its records, show that the log was cut."""
    (cause,) = judged({"r": isolated_leader_unseen(story())})["r"].causes
    assert (cause.kind, cause.name) == ("truncation", "acks=1")
    assert cause.settings == {
        "acks": "1", "min.insync.replicas": "2", "unclean.leader.election.enable": "false"
    }  # fmt: skip
    told = [step.text for step in cause.steps]
    assert "offset 10 gets a second value: the log had been cut there or below" in told
    assert "the records of leader epoch 1 begin at offset 10" in told


def test_of_too_many_changes_those_nearest_to_the_findings_count(
    judged: Any, story: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Much earlier and much later, brokers left an ISR and came back."""
    s = isolated_leader(story())
    for number in range(4):
        for time in (-100 - number, 100 + number):
            seen(s, time, 3, 1, 0, 10, isr=(1, 2) if number % 2 else (1, 2, 3))
    monkeypatch.setattr(causes, "MOST_CHANGES", 4)
    verdict = judged({"r": s}, checks=[LOST_WRITE])["r"]
    assert [cause.kind for cause in verdict.causes] == ["truncation"]
    assert verdict.notes == (
        "The causes are derived from the 4 changes of leaders, ISRs and logs that lie nearest to the findings; 7 "
        "others were left out.",
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [('{"node": 2}', "follower reads"), ('{"node": 1}', "unknown"), (None, "unknown")],
)
def test_a_read_that_got_no_record_names_the_broker_that_ended_it(
    judged: Any, story: Any, value: str | None, kind: str
) -> None:
    """A session that misses its first write has no polled record that says where it reads from."""
    s = own_write_missed(story())
    s.operations = [row | {"value": value} if row["f"] == "read" else row for row in s.operations]
    seen(s, 0, 1, 1, 0, 0)
    (cause,) = judged({"r": s}, checks=[READ_YOUR_WRITES])["r"].causes
    assert cause.kind == kind


def test_a_member_that_was_paused_after_its_copies_explains_those_of_another_one(
    judged: Any, story: Any
) -> None:
    """Copier 5 sent the first copies; the example names copier 6, which was never paused."""
    s = copied_twice(story())
    for stage, at in (("inject", (52, 53)), ("heal", (57, 58))):
        value = {"event": "e1", "stage": stage, "target": "role:copier", "nodes": [], "processes": [5],
                 "effective": True}  # fmt: skip
        row = {"process": NEMESIS, "type": "info", "topic": None, "partition": None}
        s.operation("pause-client", at=at, value=json.dumps(value), **row)
    (cause,) = judged({"r": s}, checks=[DUPLICATE_COPY])["r"].causes
    assert (cause.name, cause.faults) == ("work after the partition was lost", ("e1",))
    assert cause.steps[-1].text == "the first duplicate-copy, sent by process 5 and process 6"
