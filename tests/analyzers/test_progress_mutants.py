"""Each piece of the code that says how a run went matters: without it, one of its tests fails."""

from __future__ import annotations

from analyzers.history import fault_events, run_progress
from analyzers.judge import coverage
from tests.analyzers import test_coverage, test_fault_events, test_lateness, test_run_progress
from tests.support.mutation.calls import calls, survivors
from tests.support.mutation.logic import LOGIC
from tests.support.mutation.sites import mutants

EXPLAINED = {
    "run_progress.RunProgress.doubts: item[0] or 0 -> item[0]": "at most one key is None, and no other one equals it",
}
"""Mutants that change no outcome, with the reason."""


def test_no_rule_of_progress_can_be_altered_unnoticed() -> None:
    altered = [each for module in (fault_events, run_progress, coverage) for each in mutants(module, LOGIC)]
    assert len(altered) > 150
    modules = (test_fault_events, test_lateness, test_run_progress, test_coverage)
    tests = [call for module in modules for call in calls(module)]
    for test in tests:
        test()
    left = set(survivors(altered, tests))
    assert left == EXPLAINED.keys(), "\n" + "\n".join(sorted(left ^ EXPLAINED.keys()))
