"""What shrink says about the rate of its result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pytest_kafkacheck as api
from nemesis.shrink.runs import Measured, Shrunk, Trial
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.shrink import report
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from pytest_kafkacheck.shrink.folder import ShrinkFolder
from pytest_kafkacheck.shrink.rates import rate_of
from workloads.append_log import AppendLog

WHOLE = Experiment(
    workload=AppendLog(acks=1), faults=[api.isolate("leader", at=3, lasting=8), api.reset("one", at=20)]
)
START = ExperimentCandidate(WHOLE)
BEST = ExperimentCandidate(replace(WHOLE, faults=WHOLE.schedule.events[:1]))
SHORT = ExperimentCandidate(
    replace(WHOLE, faults=[api.isolate("leader", at=3, lasting=4).named("isolate-0")])
)


def trial(candidate: ExperimentCandidate, why: str, reproduced: bool) -> Trial:
    return Trial(candidate=candidate.to_json(), why=why, reproduced=reproduced, seconds=20)


LOG = [trial(START, "the experiment as it was", True), trial(BEST, "fewer events", True)]
LOG += [trial(BEST, "again", True)] * 5 + [trial(SHORT, "isolate-0 for 4 s", each) for each in (True, False)]


@pytest.mark.parametrize(
    ("hits", "runs", "confirmed", "reliable", "text"),
    [
        (5, 5, True, True, "5 of 5 runs"),
        (3, 3, False, False, "3 of 3 runs so far, too few to rely on"),
        (4, 10, True, False, "4 of 10 runs, less often than 4 of 5"),
        (5, 5, True, False, "5 of 5 runs, probably by luck, for a larger one shows it less often"),
        (0, 0, False, False, "the run that selected it, so its rate is unknown"),
    ],
)
def test_the_rate_says_how_far_it_can_be_relied_on(
    hits: int, runs: int, confirmed: bool, reliable: bool, text: str
) -> None:
    shrunk = Shrunk(
        best=BEST, reproduced=True, hits=hits, runs=runs, confirmed=confirmed, is_reliable=reliable
    )
    assert rate_of(shrunk) == text


def test_the_report_names_the_rate_and_what_was_tried(tmp_path: Path) -> None:
    folder = ShrinkFolder(tmp_path, WHOLE, frozenset({"lost-write"}))
    shorter = Measured(candidate=SHORT, why="isolate-0 for 4 s", hits=1, runs=2)
    whole = Measured(candidate=START, why="the experiment as it was", hits=2, runs=5)
    shrunk = Shrunk(
        best=BEST, reproduced=True, hits=5, runs=5, confirmed=True, is_reliable=True, complete=True,
        smaller=[shorter], larger=[whole],
    )  # fmt: skip
    assert report.summary(WHOLE, shrunk, LOG, folder).splitlines() == [
        "2 events became 1 in 9 runs (180 s)",
        "reproduced:   5 of 5 runs",
        "  isolate-0: isolate leader at 3 s for 8 s",
        "  a smaller one, not reliable: isolate-0 for 4 s, reproduced in 1 of 2 runs",
        "tried:",
        "  1 of 1  the experiment as it was",
        "  6 of 6  fewer events",
        "  1 of 2  isolate-0 for 4 s",
        f"as a test:    {folder.test}",
    ]


def test_where_the_result_is_not_reliable_a_larger_one_is_named(tmp_path: Path) -> None:
    folder = ShrinkFolder(tmp_path, WHOLE, frozenset({"lost-write"}))
    whole = Measured(candidate=START, why="the experiment as it was", hits=2, runs=5)
    shrunk = Shrunk(best=BEST, reproduced=True, hits=4, runs=10, confirmed=True, larger=[whole])
    larger = "isolate-0 for 8 s, reset-1 (the experiment as it was), reproduced in 2 of 5 runs"
    assert f"a larger one: {larger}" in report.summary(WHOLE, shrunk, LOG, folder)
    folder.write(shrunk, None)
    text = folder.test.read_text()
    assert "reproduced in 4 of 10 runs, less often than 4 of 5, Kafka" in text
    assert f"A larger one: {larger}." in text
    assert "Shrinking has not ended" in text
