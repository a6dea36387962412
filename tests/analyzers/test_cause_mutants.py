"""Each piece of the code that derives and tells causes matters: without it, a test of causes or stories fails."""

from __future__ import annotations

from types import ModuleType

import pytest

from analyzers.causes import (
    cuts,
    derive,
    evidence,
    not_determined,
    records,
    story,
    traces,
    words,
)
from analyzers.causes.explainer import Explainer
from analyzers.causes.explainers import (
    clients,
    duplicate_delivery,
    follower_reads,
    group_handover,
    retention,
    truncation,
    two_leaders,
)
from analyzers.causes.kind import CauseKind
from analyzers.verdict import since_fault
from tests.analyzers import (
    test_cause_cuts,
    test_cause_elections,
    test_cause_leaders,
    test_cause_traces,
    test_causes,
    test_causes_of_anomalies,
    test_causes_of_applications,
    test_causes_of_readers,
    test_causes_of_runs,
    test_several_cuts,
    test_since_fault,
    test_story,
    test_story_of_causes,
)
from tests.support.mutation.calls import calls, survivors
from tests.support.mutation.logic import LOGIC
from tests.support.mutation.sites import mutants

MODULES = (
    clients,
    cuts,
    derive,
    duplicate_delivery,
    evidence,
    follower_reads,
    group_handover,
    not_determined,
    records,
    retention,
    since_fault,
    story,
    traces,
    truncation,
    two_leaders,
    words,
)
TESTS = (
    test_causes,
    test_cause_cuts,
    test_cause_elections,
    test_cause_leaders,
    test_cause_traces,
    test_causes_of_anomalies,
    test_causes_of_applications,
    test_causes_of_readers,
    test_causes_of_runs,
    test_several_cuts,
    test_since_fault,
    test_story,
    test_story_of_causes,
)

NAMES = {"KINDS", "MOMENTARY", "_of_setting"}
"""Tables of declarations."""


def declarations(module: ModuleType) -> set[str]:
    """Kinds of causes, explainers and the list of momentary faults are data with tests of their own."""
    declared = {name for name, value in vars(module).items() if isinstance(value, CauseKind | Explainer)}
    return NAMES | declared


TYPES = "for the type checker: what may be None elsewhere never is None here"

EXPLAINED = {
    "cuts.LogCut.covered: self.before.log_end or 0 -> self.before.log_end": TYPES,
    "cuts.LogCut.covered: 0 -> 1 (#2)": TYPES,
    "truncation._with_what_is_lost: cut.before.log_end or 0 -> cut.before.log_end": TYPES,
    "truncation._with_what_is_lost: 0 -> 1": TYPES,
    "cuts.LogCut.covered: 1 -> 2": "a cut explains no findings that lie below it",
    "cuts._is_overruled: after.leads or after.epoch <= before.epoch or before.log_end is None -> "
    "after.leads or after.epoch <= before.epoch": TYPES,
    "truncation._circumstances: 0 -> 1": "the two samples of an election show one epoch, and an epoch has one leader",
    "truncation._public: cut.before.log_end or 0 -> cut.before.log_end": TYPES,
    "truncation._public: 0 -> 1": TYPES,
    "two_leaders.two_leaders: each.first or 0 -> each.first": TYPES,
    "two_leaders.two_leaders: 0 -> 1": TYPES,
    "two_leaders.two_leaders: each.last or each.first or 0 -> each.last or each.first": TYPES,
    "two_leaders.two_leaders: 0 -> 1 (#2)": TYPES,
    "records._has_epochs: each.log or '' -> each.log": TYPES,
    "words.in_order: step.time or 0.0 -> step.time": TYPES,
}
"""Mutants that change no outcome, with the reason."""


@pytest.mark.nightly
def test_no_rule_of_causes_can_be_altered_unnoticed() -> None:
    altered = [each for module in MODULES for each in mutants(module, LOGIC, skip=declarations(module))]
    assert len(altered) > 1100
    tests = [call for module in TESTS for call in calls(module)]
    for test in tests:
        test()
    left = set(survivors(altered, tests))
    assert left == EXPLAINED.keys(), "\n" + "\n".join(sorted(left ^ EXPLAINED.keys()))
