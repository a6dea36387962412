"""Every anomaly planted by hand is found, with what it implies and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.judge.analyze import analyze
from tests.support.stories.offsets import ONE, TWO
from tests.support.stories.planted import BOUNDS, PLANTED

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def stories(story: Any) -> dict[str, Any]:
    return {make.__name__: make(story()) for make in PLANTED}


@pytest.fixture(scope="module")
def verdicts(judged: Any, stories: dict[str, Any]) -> Any:
    return judged(stories, bounds=BOUNDS)


@pytest.mark.parametrize("make", PLANTED, ids=lambda make: make.__name__)
def test_exactly_the_planted_anomaly_is_found(verdicts: Any, make: Callable[[Any], Any]) -> None:
    verdict = verdicts[make.__name__]
    assert {finding.anomaly: finding.count for finding in verdict.findings} == PLANTED[make]
    severities = {ANOMALIES[name].severity for name in PLANTED[make]}
    if "invalid" in severities:
        assert verdict.result == "invalid"
    elif "unknown" in severities:
        assert verdict.result == "unknown"
    elif severities:
        assert verdict.result == "valid", verdict.unknowns
    else:
        assert not any("crashed" in sentence for sentence in verdict.unknowns)


@pytest.mark.parametrize(
    "names",
    [
        ("above_the_last_stable_offset_of_others", "lost_in_the_middle", "went_back"),
        ("owned_twice", "commit_went_back"),
        ("session_went_back", "own_write_found_too_late"),
    ],
    ids=["neither groups, nor sessions, nor transactions", "groups", "sessions"],
)
def test_a_verdict_does_not_depend_on_the_runs_beside_it(
    judged: Any, stories: dict[str, Any], verdicts: Any, names: tuple[str, ...]
) -> None:
    """Runs of one kind give the same verdicts as together with all others, whose operations need more checks."""
    assert judged({name: stories[name] for name in names}, bounds=BOUNDS) == {
        name: verdicts[name] for name in names
    }


@pytest.mark.nightly
def test_runs_in_directories_of_their_own_are_judged_the_same(
    spark: Any, write: Any, stories: dict[str, Any], verdicts: Any, tmp_path: Path
) -> None:
    """Their files are put together into one, which Spark could not read when it was compressed with lz4."""
    homes = [write(tmp_path / f"{number}", {run: each}) for number, (run, each) in enumerate(stories.items())]
    assert analyze(spark, homes, bounds=BOUNDS) == verdicts


def test_every_anomaly_of_the_catalogue_is_planted() -> None:
    assert {name for expected in PLANTED.values() for name in expected} == set(ANOMALIES)


def test_an_example_tells_what_the_catalogue_explains(verdicts: Any) -> None:
    for verdict in verdicts.values():
        for finding in verdict.findings:
            for example in finding.examples:
                explained = set(ANOMALIES[finding.anomaly].columns)
                assert set(example) == explained | {"time", "faults"}, finding.anomaly


def test_the_evidence_is_that_of_the_anomaly(verdicts: Any) -> None:
    def first(run: str) -> dict[str, Any]:
        finding = next(each for each in verdicts[run].findings if each.anomaly != "lost-read")
        return dict(finding.examples[0])

    place = {"topic": "t", "partition": 0, "faults": []}
    lost = first("lost_in_the_middle")
    assert lost.pop("time") == pytest.approx(18e-9)
    assert lost == place | {"process": 1, "op": ONE + 1, "offset": 1, "value": ONE + 1}
    skip = first("skipped")
    assert (skip["previous"], skip["skipped"], skip["offset"]) == (0, 1, 9)
    twice = first("duplicate")
    assert (twice["offset"], twice["last_offset"], twice["value"]) == (0, 1, ONE)
    missed = first("own_write_found_too_late")
    assert (missed["session"], missed["process"], missed["value"]) == (7, 1, ONE)
    assert (missed["stale"], missed["behind"]) == (pytest.approx(10e-9), 1)
    back = first("session_went_back")
    assert (back["session"], back["offset"], back["reached"], back["behind"]) == (7, 1, 2, 1)
    assert back["stale"] == pytest.approx(2e-9)
    again = first("reused")
    assert (again["value"], again["other_value"], again["process"], again["epoch"]) == (ONE, TWO, 2, 2)
    assert first("unseen")["outstanding"] == pytest.approx(10e-9)
    gone = verdicts["read_below_the_end_and_gone"].findings[0].examples[0]
    assert (gone["process"], gone["offset"], gone["value"]) == (10, 0, ONE)
    late = first("overtaken_with_unknown_outcome")
    assert (late["offset"], late["overtaker"], late["stale"]) == (1, 2, pytest.approx(1e-9))
    late = first("overtaken")
    assert (late["offset"], late["overtaker"], late["stale"]) == (0, 2, pytest.approx(1e-9))
    stuck = first("stopped_while_another_read_on")
    assert (stuck["process"], stuck["offset"], stuck["reached"], stuck["time"]) == (5, 11, 40, 12.6)
    assert (stuck["undisturbed"], stuck["allowed"]) == (28.5, 10)


def test_a_stalled_reader_is_named_with_where_it_stopped_and_how_far_others_got(verdicts: Any) -> None:
    verdict = verdicts["stopped_while_another_read_on"]
    assert (
        "stalled-reader: 1 reader of a partition that stopped for good although others read on"
        in verdict.text()
    )
    assert "at 12.6 s  t-0  reader 0  offset 11  reached 40  undisturbed 28.5 s" in verdict.text()
    assert verdict.not_exercised == ("polls-to-the-end",), "the promise is about the same reader"


def test_staleness_of_writes_is_told_in_time_and_records(verdicts: Any) -> None:
    for run, anomaly, place, stale in (
        ("wrote_behind_its_own_write", "monotonic-writes", "written", 1e-9),
        ("wrote_behind_its_read", "writes-follow-reads", "read", 1e-9),
    ):
        (example,) = next(f.examples for f in verdicts[run].findings if f.anomaly == anomaly)
        assert (example["offset"], example[place], example["behind"]) == (0, 1, 1)
        assert (example["session"], example["stale"]) == (7, pytest.approx(stale))


def test_a_step_tells_the_key_only_where_the_key_matters(verdicts: Any) -> None:
    (back,) = verdicts["keyed_records_went_back"].findings
    assert [example["key"] for example in back.examples] == [None, 4]
    assert "key 4" in (text := verdicts["keyed_records_went_back"].text())
    assert "key unknown" not in text
