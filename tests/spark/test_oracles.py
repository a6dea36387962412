"""Random histories: the checks agree with definitions spelt out in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.registry import ANOMALIES, CHECKS, CYCLE_CHECKS, bound_checks
from analyzers.facts.availability import GRAIN
from analyzers.judge import suspects
from analyzers.judge.cycles import find_cycles
from analyzers.judge.find import find
from tests.support import oracles
from tests.support.oracles import pipelines
from tests.support.oracles.order import key_regressions, steps
from tests.support.oracles.rows import Oracle
from tests.support.random_histories.logs import draw_histories, log_history

pytestmark = pytest.mark.spark

HISTORIES = {
    log_history.__name__: 400,
    "stall_history": 200,
    "queue_history": 600,
    "transaction_history": 600,
    "added_history": 600,
    "group_history": 600,
    "compacted_history": 600,
}
"""What Hypothesis draws depends on the modules that are loaded, because it also draws constants of their code: of 300
histories of queues, 26, 9 or 0 had a redelivery, by the tests that were selected."""

OTHERWISE = 300
CYCLES = {check.name for check in CYCLE_CHECKS}
BOUNDS = Bounds(
    unavailable=3 * GRAIN / 1e9,
    recovery=2 * GRAIN / 1e9,
    orphaned=2 * GRAIN / 1e9,
    standstill=pipelines.STANDSTILL / 1e9,
)

ORACLES: dict[Callable[..., Any], dict[str, Oracle]] = {}
"""By strategy, of all files."""

for _name in sorted(each.name for each in iter_modules(oracles.__path__)):
    _module = import_module(f"tests.support.oracles.{_name}")
    if hasattr(_module, "ORACLES"):
        ORACLES.setdefault(_module.RANDOM, {}).update(_module.ORACLES)


def test_every_check_has_an_oracle() -> None:
    assert {name for some in ORACLES.values() for name in some} == ANOMALIES.keys()


@cache
def histories(strategy: Callable[..., Any], story: Any) -> dict[str, Any]:
    return draw_histories(strategy(story), HISTORIES.get(strategy.__name__, OTHERWISE))


@pytest.mark.parametrize(
    ("strategy", "many"),
    [
        *((strategy, suspects.MAX_RESIDUES) for strategy in ORACLES),
        pytest.param(log_history, 0, marks=pytest.mark.nightly),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_checks_agree_with_the_oracles(
    story: Any, loaded: Any, monkeypatch: pytest.MonkeyPatch, strategy: Callable[..., Any], many: int
) -> None:
    """With many=0, there are always too many suspects for the first look to confine facts to them."""
    monkeypatch.setattr(suspects, "MAX_RESIDUES", many)
    stories, mine = histories(strategy, story), ORACLES[strategy]
    history = loaded(stories)
    found, crashed = find(
        history, [check for check in (*CHECKS, *bound_checks(BOUNDS)) if check.name in mine], examples=0
    )
    assert not crashed
    cycles, unsearched = find_cycles(history, examples=0) if mine.keys() & CYCLES else ((), ())
    assert not unsearched
    counted = {(one.run, one.anomaly): one.count for one in (*found, *cycles)}
    met = dict.fromkeys(mine, 0)
    for run, one in stories.items():
        rows = one.rows(run)
        for anomaly, oracle in mine.items():
            expected = oracle(rows)
            met[anomaly] += bool(expected)
            assert counted.get((run, anomaly), 0) == expected, (anomaly, rows)
    # Each anomaly must occur in several histories; otherwise the agreement is vacuous.
    assert {anomaly: n for anomaly, n in met.items() if n < 5} == {}


def test_the_histories_contain_rare_combinations(story: Any) -> None:
    rows = [one.rows(run) for run, one in histories(log_history, story).items()]
    kept_by_a_member = [
        any(
            a.get("generation") != b.get("generation")
            for a, b, _ in steps(each["records"], each["operations"], "poll")
        )
        for each in rows
    ]
    assert sum(kept_by_a_member) >= 5
    assert sum(any(key_regressions(each["records"], "poll")) for each in rows) >= 5
