"""Each piece of the search for cycles matters: without it, a test of the search fails."""

from __future__ import annotations

from analyzers.judge import cycle_search
from tests.analyzers import test_cycle_search
from tests.support.mutation.calls import calls, survivors
from tests.support.mutation.logic import LOGIC
from tests.support.mutation.sites import mutants

LENGTHS = "a cycle has as many transactions as pairs"

EXPLAINED = {
    "cycle_search.LEVELS: lambda check: (len(check.edges), check.name) -> lambda check: (len(check.edges),)": "the "
    "catalogue has those with as many kinds in this order already",
    "cycle_search.search: LEVELS[other] < kinds -> LEVELS[other] <= kinds": "no two anomalies have the same kinds",
    "cycle_search._graph: 1 -> 2": "the end comes after begins of the same time, as any number above 0 says",
    "cycle_search._graph: node.type == 'ok' and node.completed is not None -> node.type == 'ok'": "for the type "
    "checker: what was answered has a time",
    "cycle_search._cycle: zip(cycle, [*cycle[1:], first], strict=True) -> zip(cycle, [*cycle[1:], first])": LENGTHS,
    "cycle_search._cycle: True -> False": LENGTHS,
}
"""Mutants that change no outcome, with the reason."""


def test_no_rule_of_the_search_can_be_altered_unnoticed() -> None:
    altered = list(mutants(cycle_search, LOGIC))
    assert len(altered) > 40
    tests = list(calls(test_cycle_search))
    for test in tests:
        test()
    left = set(survivors(altered, tests))
    assert left == EXPLAINED.keys(), "\n" + "\n".join(sorted(left ^ EXPLAINED.keys()))
