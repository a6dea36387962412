"""Each piece of the code that derives and tells causes matters: without it, a test of causes or stories fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

import pytest

from analyzers.causes import application, cuts, derive, evidence, explainer, story, words
from analyzers.causes.explainer import CauseKind, Explainer
from analyzers.causes.explainers import (
    application_outputs,
    clients_and_settings,
    group_handover,
    lost_outputs,
    repeated_outputs,
    stale_reads,
    truncation,
)
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
    test_evidence_of_applications,
    test_habits_of_applications,
    test_late_outputs,
    test_lost_outputs,
    test_reordered_outputs,
    test_repeated_outputs,
    test_several_cuts,
    test_story,
    test_story_of_causes,
)
from tests.support.mutation.calls import calls, survivors
from tests.support.mutation.logic import LOGIC
from tests.support.mutation.sites import mutants

APPLICATIONS = (application, application_outputs, lost_outputs, repeated_outputs)
"""Modules about users' applications."""

OTHERS = (
    clients_and_settings,
    cuts,
    derive,
    evidence,
    explainer,
    group_handover,
    stale_reads,
    story,
    truncation,
    words,
)

OF_APPLICATIONS = (
    test_causes_of_applications,
    test_evidence_of_applications,
    test_habits_of_applications,
    test_late_outputs,
    test_lost_outputs,
    test_reordered_outputs,
    test_repeated_outputs,
)
OF_OTHERS = (
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
    test_story,
    test_story_of_causes,
)

NAMES = {"KINDS", "MOMENTARY", "RETRIES", "_of_setting", "by_log"}
"""Tables of declarations, and what is called only while a module is imported."""


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
    "stale_reads.two_leaders: each.first or 0 -> each.first": TYPES,
    "stale_reads.two_leaders: 0 -> 1": TYPES,
    "stale_reads.two_leaders: each.last or each.first or 0 -> each.last or each.first": TYPES,
    "stale_reads.two_leaders: 0 -> 1 (#2)": TYPES,
    "explainer._has_epochs: each.log or '' -> each.log": TYPES,
    "words.in_order: step.time or 0.0 -> step.time": TYPES,
}
"""Mutants of other modules that change no outcome, with the reason."""

EXPLAINED_OF_APPLICATIONS = {
    "application_outputs._late_commit: each.time >= made.time -> each.time > made.time": "an output that is "
    "sent when a late transaction is committed is late itself",
    "repeated_outputs._swaps: made.offset < rest[-1].made.offset -> made.offset <= rest[-1].made.offset": "two "
    "records of a partition have two offsets",
}
"""Of modules about applications."""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("modules", "tests", "least", "explained"),
    [
        (APPLICATIONS, OF_APPLICATIONS, 600, EXPLAINED_OF_APPLICATIONS),
        (OTHERS, OF_OTHERS, 1100, EXPLAINED),
    ],
    ids=["applications", "others"],
)
def test_no_rule_of_causes_can_be_altered_unnoticed(
    modules: Sequence[ModuleType], tests: Sequence[ModuleType], least: int, explained: Mapping[str, str]
) -> None:
    """least: mutants, so that no module is left out by mistake."""
    altered = [each for module in modules for each in mutants(module, LOGIC, skip=declarations(module))]
    assert len(altered) > least
    called = [call for module in tests for call in calls(module)]
    for call in called:
        call()
    left = set(survivors(altered, called))
    assert left == explained.keys(), "\n" + "\n".join(sorted(left ^ explained.keys()))
