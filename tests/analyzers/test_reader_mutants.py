"""Each piece of the code that judges how far readers came matters: without it, one of its tests fails."""

from __future__ import annotations

from analyzers.judge import readers
from tests.analyzers import test_idle_readers, test_promises
from tests.support.mutation.calls import calls, survivors
from tests.support.mutation.logic import LOGIC
from tests.support.mutation.sites import mutants

BELOW_ALL = "every number below 0 is below all offsets"

EXPLAINED = {
    "readers._behind: 1 -> 2": BELOW_ALL,
    "readers._offset: 1 -> 2": BELOW_ALL,
    "readers.readers: 1 -> 2": BELOW_ALL,
}
"""Mutants that change no outcome, with the reason."""


def test_no_rule_of_readers_can_be_altered_unnoticed() -> None:
    altered = [*mutants(readers, LOGIC)]
    assert len(altered) > 80
    tests = [call for module in (test_idle_readers, test_promises) for call in calls(module)]
    for test in tests:
        test()
    left = set(survivors(altered, tests))
    assert left == EXPLAINED.keys(), "\n" + "\n".join(sorted(left ^ EXPLAINED.keys()))
