"""Facts about coordinators are computed only from the answers that may break a promise."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from analyzers.catalogue.registry import CHECKS
from analyzers.history.load import History
from analyzers.history.shared_tables import SharedTables
from analyzers.judge.narrow import narrow
from analyzers.judge.narrow_coordinated import (
    GROUPS,
    IDS,
    LATE,
    MANY_NAMES,
    OF_GROUPS,
    OF_TRANSACTIONS,
    PARTS,
    TIED,
    suspects,
)
from tests.support.narrowed import found
from tests.support.random_histories.coordinators import coordinator_history
from tests.support.random_histories.logs import draw_histories
from tests.support.stories import coordinators as stories
from tests.support.stories.coordinators import classic, group, transaction
from tests.support.stories.replication import written

pytestmark = pytest.mark.spark

COORDINATED = [check for check in CHECKS if check.over in PARTS]


def positions_lost_in_between(s: Any) -> Any:
    group(group(s, 20, positions={"t-0": 7}), 40)
    return written(group(s, 60, positions={"t-0": 5}))


def unknown_positions_in_between(s: Any) -> Any:
    group(group(s, 20, positions={"t-0": 7}), 40, positions={"t-0": None})
    return written(group(s, 60, positions={"t-0": 5}))


def open_again_after_another_one(s: Any) -> Any:
    transaction(transaction(s, 20, "CompleteCommit"), 40, "Ongoing", started=1001)
    return written(transaction(s, 60, "Ongoing"))


def late(s: Any) -> Any:
    """The last answer of each kind is requested after all others, and has an earlier time than they."""
    group(s, 40, positions={"t-0": 7}, epoch=5, assigned_epoch=5)
    group(s, 60, positions={"t-0": 5}, epoch=5, assigned_epoch=5)
    group(s, 80, group="e", epoch=5, assigned_epoch=5)
    group(s, 100, group="e")
    group(s, 60, group="p", positions={"t-0": 7})
    group(s, 80, group="p", positions={"t-0": 5})
    transaction(s, 40, "CompleteCommit")
    transaction(s, 60, "Ongoing")
    transaction(s, 40, "Empty", transactional_id="y", epoch=3, started=-1)
    transaction(s, 60, "Empty", transactional_id="y", started=-1)
    for row in s.observations[2::2]:
        row["time"] = 10
    return written(s)


def tied(s: Any) -> Any:
    """Which of two answers with one time comes first is open."""
    classic(classic(s, 20, 5), 20, 4)
    return written(s)


MORE = (positions_lost_in_between, unknown_positions_in_between, open_again_after_another_one, late)


@pytest.fixture(scope="module")
def history(story: Any, loaded: Any) -> History:
    each = {make.__name__: make(story()) for make in (*stories.PLANTED, *MORE)}
    result: History = loaded(each | draw_histories(coordinator_history(story), 200))
    return result


@pytest.fixture(scope="module")
def guilty(history: History) -> dict[str, set[str]]:
    """Runs by anomaly."""
    each = found(history, COORDINATED, narrowed=False)
    assert found(history, COORDINATED, narrowed=True) == each
    return {check.name: {one.run for one in each if one.anomaly == check.name} for check in COORDINATED}


def suspected(history: History, name: str, condition: str) -> set[str]:
    """The runs that one condition in place of all suspects."""
    (check,) = (check for check in COORDINATED if check.name == name)
    kind = GROUPS if check.over in OF_GROUPS else IDS
    return {row.run for row in history.sql(suspects(kind, {check.over: {name: condition}})).collect()}


PARTS_OF_CONDITIONS = {
    "group-state-conflict": [OF_GROUPS["group_states"]["group-state-conflict"]],
    "group-epoch-regression": ["epoch < newest", f" or {LATE}"],
    "unexplained-rebalance": ["generation.epoch = last_generation.epoch + 1"],
    "position-regression": ["positions[log] < last_positions[log]", "true", f" or {LATE}"],
    "transaction-state-regression": [
        "started < furthest.started", "step < furthest.step", "outcome <> furthest.outcome", f" or {LATE}",
    ],
    "producer-epoch-regression": ["epoch < newest", f" or {LATE}"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "part"), [(name, each) for name, some in PARTS_OF_CONDITIONS.items() for each in some]
)
def test_no_part_of_a_condition_can_be_left_out(
    history: History, guilty: dict[str, set[str]], name: str, part: str
) -> None:
    (condition,) = (each[name] for each in (OF_GROUPS | OF_TRANSACTIONS).values() if name in each)
    assert part in condition
    assert guilty[name] <= suspected(history, name, condition)
    without = condition.replace(part, "" if part.startswith(" or ") else "false")
    assert not guilty[name] <= suspected(history, name, without)


def test_of_two_answers_with_one_time_any_may_come_first(story: Any, loaded: Any) -> None:
    one = loaded({"r": tied(story())})
    condition = OF_GROUPS["rebalances"]["unexplained-rebalance"]
    assert suspected(one, "unexplained-rebalance", condition) == {"r"}
    assert suspected(one, "unexplained-rebalance", f"{condition} and not {TIED}") == set()


HEALTHY = [
    stories.empty_groups, stories.groups_in_all_their_states, stories.rebalances_with_a_cause,
    stories.group_epoch_of_an_unknown_process, stories.share_group_before_its_assignment,
    stories.transactions_one_after_another,
]  # fmt: skip


@pytest.mark.parametrize("fact", PARTS)
def test_a_healthy_history_needs_no_facts(story: Any, loaded: Any, fact: str) -> None:
    whole = loaded({make.__name__: make(story()) for make in HEALTHY})
    assert narrow(whole, fact) is None


def test_only_the_answers_of_a_suspicious_process_are_left(story: Any, loaded: Any) -> None:
    s = stories.position_that_went_back(story())
    group(group(s, 100, group="h"), 120, connection=1)
    transaction(s, 140, "Ongoing")
    part = narrow(loaded({"r": s, "s": stories.empty_groups(story())}), "group_positions")
    assert part is not None
    left = part.observations.where("kind = 'group_state'").collect()
    assert {(row.run, row.connection, json.loads(row.value)["group"]) for row in left} == {("r", 0, "g")}
    assert part.observations.where("kind = 'transaction'").count() == 1


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("name", ["g", 'a "b"', "a\\b", "größe", "a/b", "it's {x}", "${x}", "", None])
def test_names_of_any_characters_are_kept(story: Any, loaded: Any, name: Any, ascii_only: bool) -> None:
    s = story()
    for at, epoch, state in ((20, 5, "CompleteCommit"), (40, 4, "Ongoing")):
        group(s, at, group=name, epoch=epoch, assigned_epoch=epoch)
        transaction(s, at, state, transactional_id=name)
    for row in s.observations:
        if row.get("value"):
            row["value"] = json.dumps(json.loads(row["value"]), ensure_ascii=ascii_only)
    one = loaded({"r": written(s)})
    each = found(one, COORDINATED, narrowed=True)
    assert {one.anomaly for one in each} == {"group-epoch-regression", "transaction-state-regression"}
    assert each == found(one, COORDINATED, narrowed=False)


def test_many_names_are_not_looked_up(story: Any, loaded: Any) -> None:
    s = story()
    for number in range(MANY_NAMES + 1):
        group(group(s, 20, group=f"g{number}", epoch=5, assigned_epoch=5), 40, group=f"g{number}")
    group(s, 60, group="other")
    (one,) = found(loaded({"r": written(s)}), COORDINATED, narrowed=True)
    assert one.count == MANY_NAMES + 1
    part = narrow(loaded({"r": s}), "group_states")
    assert part is not None
    assert "other" in str(part.observations.collect())


def test_suspects_are_looked_for_once(history: History) -> None:
    statements: list[str] = []

    class Counted(SharedTables):
        def collected(self, statement: str, collect: Any) -> Any:
            return super().collected(statement, lambda sql: statements.append(sql) or collect(sql))

    shared = replace(history, shared=Counted(history.sql))
    for fact in PARTS:
        assert narrow(shared.of_runs({"position_that_went_back"}), fact) is not None
    assert len(statements) == 2
