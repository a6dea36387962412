"""The judgement of several runs at once: its options, what it refuses, and what it leaves behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS
from analyzers.checks.durability import DUPLICATE
from analyzers.judge.analyze import analyze
from analyzers.judge.warm_up import warm_up
from tests.support.stories.whole_runs import ONE, good

pytestmark = pytest.mark.spark


def test_allowed_anomalies_are_reported_but_not_judged(judged: Any, story: Any) -> None:
    twice = story().send(ONE, 0).final({0: ONE, 1: ONE}, end=2)
    verdict = judged({"twice": twice}, allow={"duplicate"})["twice"]
    assert verdict.result == "valid"
    assert [(finding.anomaly, finding.allowed) for finding in verdict.findings] == [("duplicate", True)]


def test_counts_are_exact_and_examples_the_first_in_time(judged: Any, story: Any) -> None:
    lost_writes = story()
    for sequence in reversed(range(50)):
        lost_writes.send(ONE + sequence, sequence, process=sequence, at=(sequence, sequence + 1))
    lost_writes.final({}, end=0)
    for examples in (0, 3):
        (lost,) = judged({"r": lost_writes}, examples=examples)["r"].findings
        assert (lost.count, [e["offset"] for e in lost.examples]) == (50, [0, 1, 2][:examples])


def test_runs_from_several_directories(spark: Any, write: Any, story: Any, tmp_path: Path) -> None:
    """Including a directory whose name looks like a glob pattern, and one without a history."""
    write(tmp_path / "a [1]: {x}*", {"first": good(story())})
    write(tmp_path / "b", {"second": story().send(ONE, 0).final({}, end=0)})
    (tmp_path / "empty").mkdir()
    verdicts = analyze(spark, sorted(tmp_path.iterdir()))
    assert {run: verdict.result for run, verdict in verdicts.items()} == {
        "first": "valid",
        "second": "invalid",
        "empty": "unknown",
    }


@pytest.mark.parametrize(
    "broken",
    [
        replace(DUPLICATE, where="no_such_column"),
        replace(DUPLICATE, where="1 / (value - value) > 0"),
    ],
    ids=["when planned", "when run"],
)
def test_a_check_that_crashes_does_not_affect_the_others(judged: Any, story: Any, broken: Check) -> None:
    checks = [broken, *(check for check in CHECKS if check.name != "duplicate")]
    stories = {"good": good(story()), "lost": story().send(ONE, 0).final({}, end=0)}
    verdicts = judged(stories, checks=checks)
    assert {run: verdict.result for run, verdict in verdicts.items()} == {
        "good": "unknown",
        "lost": "invalid",
    }
    assert [finding.anomaly for finding in verdicts["lost"].findings] == ["lost-write"]
    (sentence,) = verdicts["good"].unknowns
    assert "The check duplicate crashed: " in sentence


def test_bad_input_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no anomaly named lost-wriet; there are lost-write, "):
        analyze(spark, [tmp_path], allow=["lost-wriet"])
    with pytest.raises(ValueError, match="expected a collection"):
        analyze(spark, [tmp_path], allow="duplicate")
    with pytest.raises(ValueError, match="expected 0 or more, got -1"):
        analyze(spark, [tmp_path], examples=-1)
    with pytest.raises(ValueError, match="at least one run directory"):
        analyze(spark, [])
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        analyze(spark, [tmp_path / "nowhere"])


def test_a_malformed_fault_event_is_named(judged: Any, story: Any) -> None:
    malformed = good(story()).fault("inject")
    malformed.operations[-1]["value"] = "{}"
    with pytest.raises(ValueError, match=r"of the nemesis \(isolate\).*schema"):
        judged({"r": malformed})


@pytest.mark.nightly
def test_nothing_is_left_in_the_working_directory(
    spark: Any, judged: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    warm_up(spark)
    judged({"good": good(story())})
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
