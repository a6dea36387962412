"""Targets: what is understood, what is refused, whom they mean."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.targets import ALLOWED, Groups, Target, Unresolved, check, parse, resolve

RNG = random.Random(0)


@pytest.mark.parametrize(
    ("text", "kind", "topic", "partition", "node"),
    [
        ("leader", "leader", None, None, None),
        ("leader:3", "leader", None, 3, None),
        ("leader:orders-0", "leader", "orders", 0, None),
        ("follower:my-orders.v1-12", "follower", "my-orders.v1", 12, None),
        ("leader:2024-1", "leader", "2024", 1, None),
        ("follower", "follower", None, None, None),
        ("controller", "controller", None, None, None),
        ("random", "random", None, None, None),
        ("2", "node", None, None, 2),
        (2, "node", None, None, 2),
    ],
    ids=repr,
)
def test_grammar(
    text: str | int, kind: str, topic: str | None, partition: int | None, node: int | None
) -> None:
    target = Target.parse(text)
    assert target == Target(kind=kind, topic=topic, partition=partition, node=node)
    assert str(target) == str(text)
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    "wrong",
    ["", "Leader", "leader:", "leader:x", "leader:log-", "controller:1", -1, True, None, 1.5, "1 ", "²"],
)  # fmt: skip
def test_other_text_is_refused_with_what_is_allowed(wrong: object) -> None:
    with pytest.raises(ValueError, match=re.escape(f"target {wrong!r}: allowed are {ALLOWED}")):
        Target.parse(wrong)  # type: ignore[arg-type]


def test_groups() -> None:
    groups = parse([[1], [2, 3]])
    assert groups == Groups(((1,), (2, 3)))
    assert groups.to_json() == [[1], [2, 3]]
    assert str(groups) == "1 | 2, 3"


@pytest.mark.parametrize(
    "wrong", [[], [[1, 2]], [[1], []], [[1], [1, 2]], [["1"], [2]], [1, 2], [[True], [2]]]
)
def test_groups_that_split_nothing_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"groups .*expected two or more disjoint groups"):
        parse(wrong)  # type: ignore[arg-type]


@given(st.text())
def test_any_text_is_a_target_that_says_itself_or_a_value_error(text: str) -> None:
    try:
        target = Target.parse(text)
    except ValueError:
        return
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    "fine", ["leader", "leader:2", "follower:log-0", "controller", "random", 3, [[1], [3]]]
)
def test_possible_targets_pass(fine: str | int | list[list[int]]) -> None:
    check(parse(fine), nodes=(1, 2, 3), topics={"log": 3})


@pytest.mark.parametrize(
    ("impossible", "said"),
    [
        (7, "target '7': the cluster has no node 7; allowed: 1, 2, 3"),
        ([[1], [4]], "target '1 | 4': the cluster has no node 4"),
        ("leader:3", "target 'leader:3': log has no partition 3; allowed: 0 to 2"),
        ("follower:log-9", "log has no partition 9"),
        ("leader:other-0", "the workload has no topic other; allowed: log"),
    ],
)
def test_impossible_targets_are_refused(impossible: str | int | list[list[int]], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        check(parse(impossible), nodes=(3, 1, 2), topics={"log": 3})


def test_a_single_node_has_no_follower() -> None:
    with pytest.raises(ValueError, match="no follower"):
        check(Target.parse("follower"), nodes=(1,), topics={"log": 1})


def test_resolution(cluster) -> None:
    def found(text: str | int) -> int:
        return resolve(Target.parse(text), cluster, topic="log", rng=RNG)

    cluster.leaders = {("log", 0): 2, ("log", 1): 3, ("orders", 0): 1}
    assert found("leader") == 2
    assert found("leader:1") == 3
    assert found("leader:orders-0") == 1
    assert found("controller") == 3
    assert found(1) == 1
    assert found("follower") == 3  # assignment 2, 3, 1
    cluster.in_sync = (1, 2)
    assert found("follower") == 1


@pytest.mark.parametrize(
    ("change", "target", "said"),
    [
        ({"leaders": {("log", 0): None}}, "leader", "log-0 has no leader"),
        ({"leaders": {("log", 0): None}}, "follower", "log-0 has no leader"),
        ({"in_sync": (2,)}, "follower", "no in-sync follower: leader 2, ISR [2]"),
        ({"active_controller": None}, "controller", "no active controller"),
    ],
)
def test_nobody_to_strike(cluster, change, target, said) -> None:
    for name, value in change.items():
        setattr(cluster, name, value)
    with pytest.raises(Unresolved, match=re.escape(said)):
        resolve(Target.parse(target), cluster, topic="log", rng=RNG)


def test_random_depends_on_the_generator_alone(cluster) -> None:
    chosen = [
        resolve(Target.parse("random"), cluster, topic="log", rng=random.Random(seed)) for seed in range(40)
    ]
    again = [
        resolve(Target.parse("random"), cluster, topic="log", rng=random.Random(seed)) for seed in range(40)
    ]
    assert chosen == again
    assert set(chosen) == {1, 2, 3}
