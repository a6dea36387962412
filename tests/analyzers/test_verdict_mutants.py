"""Each piece of the code that decides on a verdict matters: without it, a test of verdicts or promises fails."""

from __future__ import annotations

from analyzers.verdict import promises, verdict
from tests.analyzers import test_promises, test_story, test_verdict
from tests.support.mutation.calls import calls, survivors
from tests.support.mutation.logic import LOGIC
from tests.support.mutation.sites import mutants

LAYOUT = "how the JSON looks: what it says is the same"
ALWAYS_EXERCISED = "brokers that answered have exercised the promise, so it is not missing either way"

EXPLAINED = {
    "verdict.Verdict.to_json: json.dumps({'format': FORMAT, **asdict(self)}, indent=2) -> "
    "json.dumps({'format': FORMAT, **asdict(self)})": LAYOUT,
    "verdict.Verdict.to_json: 2 -> 3": LAYOUT,
    "promises.PROMISES: exercised.brokers or exercised.sampled -> exercised.brokers": ALWAYS_EXERCISED,
}
"""Mutants that change no outcome, with the reason."""


def test_no_rule_of_verdicts_can_be_altered_unnoticed() -> None:
    altered = [each for module in (promises, verdict) for each in mutants(module, LOGIC)]
    assert len(altered) > 150
    tests = [call for module in (test_promises, test_verdict, test_story) for call in calls(module)]
    for test in tests:
        test()
    left = set(survivors(altered, tests))
    assert left == EXPLAINED.keys(), "\n" + "\n".join(sorted(left ^ EXPLAINED.keys()))
