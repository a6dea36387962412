"""Each piece of a fact matters: without it, the checks find something else in a planted or random history, or find it
with other evidence.

Mutants are made from the text of each module of `analyzers.facts`, see ``tests.support.mutation``. A mutant that
Spark refuses, or that lacks a column, cannot pass unnoticed. Random histories are those of ``test_oracles``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import bound_checks
from analyzers.history.incarnations import by_incarnation, cuts, topic_changes
from analyzers.history.load import History, load, release
from analyzers.history.sources import sources
from tests.support.mutation.cycles import CANDIDATES
from tests.support.mutation.explained import EXPLAINED, differences
from tests.support.mutation.facts import (
    MODULES,
    EqualTables,
    differing,
    findings,
    is_noticed,
    makers,
    of_module,
    users,
)
from tests.support.mutation.sites import Mutant
from tests.support.oracles.pipelines import STANDSTILL
from tests.support.random_histories.added_partitions import added_history
from tests.support.random_histories.compaction import compacted_history
from tests.support.random_histories.coordinators import coordinator_history
from tests.support.random_histories.copies import copy_history
from tests.support.random_histories.eligible import eligible_history
from tests.support.random_histories.followers import follower_history
from tests.support.random_histories.groups import group_history
from tests.support.random_histories.inspections import inspection_history
from tests.support.random_histories.logs import draw_histories, log_history
from tests.support.random_histories.pipelines import pipeline_history
from tests.support.random_histories.queues import queue_history
from tests.support.random_histories.replication import replication_history
from tests.support.random_histories.searches import search_history
from tests.support.random_histories.snapshots import snapshot_history
from tests.support.random_histories.stalls import stall_history
from tests.support.random_histories.transactions import transaction_history
from tests.support.random_histories.truncations import truncated_history
from tests.support.stories.planted import ALL, PLANTED, RUNNING
from tests.support.stories.running import RUNNING_STORIES
from workloads.history.schema import TABLES

pytestmark = pytest.mark.spark

HISTORIES = 80
"""Of each kind."""

STRATEGIES = (
    log_history, group_history, transaction_history, copy_history, compacted_history, pipeline_history,
    snapshot_history, search_history, inspection_history, queue_history, replication_history,
    follower_history, coordinator_history, eligible_history, truncated_history, added_history, stall_history,
)  # fmt: skip

NO_FACTS = {"fact", "registry"}

SHORT = bound_checks(Bounds(standstill=STANDSTILL / 1e9))
"""Random histories last for some hundred ns."""

OF_FACTS = sorted(MODULES.keys() - NO_FACTS)

SAMPLE = 12
"""Mutants for a first look, spread over all modules."""


def stories_of(story: Any, random: int) -> dict[str, Any]:
    stories = {make.__name__: make(story()) for make in (*PLANTED, *RUNNING_STORIES)}
    if random:
        for strategy in STRATEGIES:
            drawn = draw_histories(strategy(story), random)
            stories |= {f"{strategy.__name__}-{name}": each for name, each in drawn.items()}
    return stories


@pytest.fixture(scope="module")
def logs_of(spark: Any, write: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., History]:
    def logs(stories: Mapping[str, Any]) -> History:
        return logs_in(spark, write(tmp_path_factory.mktemp("runs") / "run", stories))

    return logs


def logs_in(spark: Any, run: Path) -> History:
    """What facts are computed from, with a log for each incarnation of a topic. In memory: each mutant reads it."""
    runs = sources(spark, [run])
    history = load(spark, runs)
    logs = by_incarnation(history, cuts(topic_changes(history, runs)))
    release(spark, history)
    return replace(logs, kept=None, **{table: getattr(logs, table).cache() for table in TABLES})


@pytest.fixture(scope="module")
def history(story: Any, logs_of: Any) -> History:
    logs: History = logs_of(stories_of(story, HISTORIES))
    return logs


def survivors(history: History, mutants: Iterable[Mutant]) -> set[str]:
    """Each fact is judged only for the mutants that the facts before it did not show to be altered."""
    left = list(mutants)
    for checks, is_running in (((*ALL, *SHORT), False), (RUNNING, True)):
        shared = EqualTables(history.sql)
        left = _unnoticed(replace(history, shared=shared, is_running=is_running), left, checks)
    return {each.name for each in left}


def _unnoticed(history: History, left: list[Mutant], checks: Sequence[Check]) -> list[Mutant]:
    used_by = {module: users(module.rpartition(".")[2]) for module in {each.module for each in left}}
    looked_at = {check.over for check in checks} | (set() if history.is_running else {*CANDIDATES})
    used = sorted({name for names in used_by.values() for name in names} & looked_at)
    # Most mutants are noticed where most checks look.
    for name in sorted(used, key=lambda fact: sum(check.over == fact for check in checks), reverse=True):
        original = makers()[name](history)
        expected = findings(name, original, checks)
        outcomes: dict[str, bool | Future[bool]] = {}
        with ThreadPoolExecutor(2) as pool:
            for mutant in left:
                rows = name in used_by[mutant.module] and differing(mutant, history, name, original)
                outcomes[mutant.name] = (
                    rows if isinstance(rows, bool) else pool.submit(is_noticed, name, rows, expected, checks)
                )
        left = [each for each in left if not _result(outcomes[each.name])]
    return left


def expect_only(explained: set[str], unnoticed: set[str]) -> None:
    """Pytest shortens the sets of an assertion that fails, and a name is longer than what it shows of them."""
    if text := differences(unnoticed, explained):
        pytest.fail(text, pytrace=False)


def _result(outcome: bool | Future[bool]) -> bool:
    return outcome if isinstance(outcome, bool) else outcome.result()


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("module", OF_FACTS)
def test_no_fact_can_be_altered_unnoticed(history: History, module: str) -> None:
    known = {name for name in EXPLAINED if name.startswith(f"{module}.")}
    expect_only(known, survivors(history, of_module(module)))


@pytest.mark.nightly
def test_a_sample_of_altered_facts_is_noticed(story: Any, logs_of: Any) -> None:
    """Planted histories alone, so that this takes seconds."""
    mutants = [each for module in OF_FACTS for each in of_module(module) if each.name not in EXPLAINED]
    sample = mutants[:: len(mutants) // SAMPLE]
    expect_only(set(), survivors(logs_of(stories_of(story, 0)), sample))


def test_every_explained_mutant_exists() -> None:
    names = {each.name for module in OF_FACTS for each in of_module(module)}
    assert EXPLAINED.keys() <= names
