"""Each piece of a fact matters: without it, the checks find something else in a planted or random history, or find it
with other evidence.

Mutants are made from the text of each module of `analyzers.facts`, see ``tests.support.mutation``. A mutant that
Spark refuses, or that lacks a column, cannot pass unnoticed. Random histories are those of ``test_oracles``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame

from analyzers.facts.registry import FACTS
from analyzers.history.load import History
from tests.support.mutation.explained import EXPLAINED
from tests.support.mutation.facts import MODULES, Altered, differing, of_module, unnoticed, users
from tests.support.mutation.sites import Mutant
from tests.support.random_histories.groups import group_history
from tests.support.random_histories.logs import draw_histories, log_history
from tests.support.random_histories.transactions import transaction_history
from tests.support.stories.planted import ALL, PLANTED
from workloads.history.schema import TABLES

pytestmark = pytest.mark.spark

HISTORIES = 80
"""Of each kind."""

JOB = 25
"""Mutants that one Spark job judges."""

NOT_COVERED = {
    "columns", "commit_reaches", "committed_polls", "compaction", "coverage", "dependencies", "final_reads",
    "group_commits", "handovers", "members", "orphans", "ownerships", "reaches", "recoveries", "redeliveries",
    "removals", "sessions", "stalls", "steps", "transactional_writes", "transactions", "values", "waits",
}  # fmt: skip
"""Modules with mutants of which nobody has said yet why they survive. The list only gets shorter."""

NO_FACTS = {"fact", "registry"}

COVERED = sorted(MODULES.keys() - NOT_COVERED - NO_FACTS)

SAMPLE = 12
"""Mutants for a first look, spread over all that are covered."""


def stories_of(story: Any, random: int) -> dict[str, Any]:
    stories = {make.__name__: make(story()) for make in PLANTED}
    if random:
        for strategy in (log_history, group_history, transaction_history):
            drawn = draw_histories(strategy(story), random)
            stories |= {f"{strategy.__name__}-{name}": each for name, each in drawn.items()}
    return stories


@pytest.fixture(scope="module")
def history(story: Any, loaded: Any) -> History:
    return kept(loaded(stories_of(story, HISTORIES)))


def kept(history: History) -> History:
    """In memory: each mutant reads it."""
    return replace(history, **{table: getattr(history, table).cache() for table in TABLES})


def survivors(history: History, mutants: Iterable[Mutant]) -> set[str]:
    originals: dict[str, dict[str, DataFrame]] = {}
    found: set[str] = set()
    batch: list[Altered] = []
    for mutant in mutants:
        if mutant.module not in originals:
            names = users(mutant.module.rpartition(".")[2])
            originals[mutant.module] = {name: FACTS[name](history) for name in names}
        altered = differing(mutant, history, originals[mutant.module])
        if altered is None:
            continue
        batch += altered
        found |= set() if altered else {mutant.name}
        if len(batch) >= JOB:
            found |= unnoticed(history, ALL, batch)
            batch = []
    return found | (unnoticed(history, ALL, batch) if batch else set())


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("module", COVERED)
def test_no_fact_can_be_altered_unnoticed(history: History, module: str) -> None:
    known = {name for name in EXPLAINED if name.startswith(f"{module}.")}
    assert survivors(history, of_module(module)) == known


@pytest.mark.nightly
def test_a_sample_of_altered_facts_is_noticed(story: Any, loaded: Any) -> None:
    """Planted histories alone, so that this takes seconds."""
    mutants = [each for module in COVERED for each in of_module(module) if each.name not in EXPLAINED]
    sample = mutants[:: len(mutants) // SAMPLE]
    assert survivors(kept(loaded(stories_of(story, 0))), sample) == set()


def test_every_explained_mutant_exists() -> None:
    names = {each.name for module in COVERED for each in of_module(module)}
    assert EXPLAINED.keys() <= names


def test_facts_without_mutants_are_listed() -> None:
    assert MODULES.keys() >= NOT_COVERED
    assert len(NOT_COVERED) <= 23
