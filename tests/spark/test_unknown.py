"""Whole verdicts: a run that lacks something is unknown, and the verdict gives the reason."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.verdict.verdict import Verdict
from tests.support.stories.whole_runs import all_stories

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ("nothing-acknowledged", "No send was acknowledged (of 1)"),
        ("no-records", "holds no records"),
        ("no-final-read", "t-0 was written, but there was no final read of it"),
        ("final-read-failed", "t-0 was written, but no final read of it completed"),
        ("one-final-read-missing", "t-1 was written, but there was no final read of it"),
        ("fault-without-effect", "isolate leader (e1) did not take effect"),
        ("fault-not-healed", "isolate leader (e1) was not verified as healed"),
        ("fault-without-heal", "isolate leader (e1) has no record of its healing"),
        ("client-crashed", "producer 1 ended with status 70"),
        ("client-started", "does not say how clients ended (client 1)"),
        ("phase-faults", "was interrupted in its phase faults"),
        ("no-phases", "no record that these phases of the run began: steady, recovery, final, end"),
        ("phase-missing", "no record that these phases of the run began: recovery"),
        ("not-recovered", "The cluster had not recovered after 60 s: brokers [1] do not answer."),
        ("load-failed", "The load did not run to its end: Every client process ended early: 1 producer."),
        ("other-step-failed", "The step dig of the run failed: x."),
        ("leaderless", "t-1 was written, but its final read could not begin (it has no leader)"),
        ("fault-without-inject", "isolate leader (e1) has no record of its injection"),
        ("unlinked", "3 records lack the offset of the record before them"),
        ("half-linked", "3 records lack the offset of the record before them"),
    ],
)
def test_a_run_that_did_not_exercise_something_is_unknown(
    whole_runs: dict[str, Verdict], run: str, reason: str
) -> None:
    verdict = whole_runs[run]
    assert (verdict.result, verdict.findings) == ("unknown", ())
    (sentence,) = verdict.unknowns
    assert reason in sentence


def test_one_verdict_for_each_run(whole_runs: dict[str, Verdict], story: Any) -> None:
    assert set(whole_runs) == set(all_stories(story))
    assert whole_runs["good"].result == "valid"
    runs = ("client-stopped", "client-ended", "phase-end", "recovered")
    assert {whole_runs[run].result for run in runs} == {"valid"}
    for run in ("lost-and-unknown", "lost-and-leaderless"):
        assert whole_runs[run].result == "invalid"
        assert whole_runs[run].unknowns


def test_how_far_a_run_went_is_part_of_its_verdict(whole_runs: dict[str, Verdict]) -> None:
    assert (whole_runs["good"].exercised.phase, whole_runs["good"].exercised.failed_steps) == (None, ())
    did = whole_runs["load-failed"].exercised
    assert (did.phase, did.failed_steps) == ("end", ("load",))
    assert Verdict.from_json(whole_runs["load-failed"].to_json()) == whole_runs["load-failed"]
