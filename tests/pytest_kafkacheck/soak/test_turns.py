"""Releases are drawn from the seed of a soak, and each of them gets its rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.soak.draw import CANDIDATES, LONGEST, SHORTEST, candidate, cluster_of, draw
from pytest_kafkacheck.soak.limits import Limits
from pytest_kafkacheck.soak.pairs import planned
from pytest_kafkacheck.soak.plan import PRESETS, Soak
from pytest_kafkacheck.soak.soak import soak
from pytest_kafkacheck.soak.state import SoakFolder, State
from tests.support.fake_lab import FakeLab, at_once
from workloads.append_log import AppendLog

VERSIONS = ("3.9.2", "4.1.1", "4.3.0")
PLAN = Soak(workloads=[AppendLog()], clusters=[ClusterSpec(version=each) for each in VERSIONS])
SEEDS = range(1, 11)


def versions(seed: int, rounds: int = 120) -> list[str]:
    return [cluster_of(PLAN, seed, number).version for number in range(1, rounds + 1)]


def stays(seed: int) -> list[int]:
    return [len(list(rounds)) for _, rounds in groupby(versions(seed))]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_release_gets_as_many_rounds_as_the_others(seed: int) -> None:
    drawn = versions(seed)
    for rounds in range(1, len(drawn) + 1):
        counts = Counter(drawn[:rounds])
        assert max(counts.values()) - min(counts[each] for each in VERSIONS) <= LONGEST
    assert set(drawn[: 3 * LONGEST]) == set(VERSIONS)


def test_a_release_stays_for_several_rounds_since_another_cluster_has_to_start() -> None:
    for seed in SEEDS:
        assert min(stays(seed)[:-1]) >= SHORTEST
        assert max(stays(seed)) <= 2 * LONGEST


def test_the_order_and_the_number_of_rounds_are_drawn() -> None:
    assert versions(1) == versions(1)
    assert len({tuple(dict.fromkeys(versions(seed))) for seed in SEEDS}) >= 4
    assert len({stays(seed)[0] for seed in SEEDS}) >= 4


def test_steering_decides_neither_release_nor_turn() -> None:
    plan = replace(PRESETS["safe"].plan(), clusters=PLAN.clusters)
    steered: set[tuple[str, str]] = set()
    alone: set[tuple[str, str]] = set()
    for number in range(1, 3 * SHORTEST):
        drawn = draw(plan, 1, number, steered).experiment
        assert drawn.cluster == cluster_of(plan, 1, number)
        steered |= planned(drawn)
        alone |= planned(candidate(plan, 1, number, 0))
    assert len(steered) > 1.4 * len(alone)
    clusters = {candidate(PLAN, 1, 1, attempt).cluster.version for attempt in range(CANDIDATES)}
    assert len(clusters) == 1


def test_a_soak_that_was_killed_goes_on_with_the_releases_of_its_seed(tmp_path: Path) -> None:
    def run(lab: FakeLab, rounds: int) -> State:
        return soak(PLAN, lab, SoakFolder(lab.home), Limits(rounds=rounds), seed=3, start=at_once)

    straight, parts = FakeLab(tmp_path / "straight"), [FakeLab(tmp_path / "killed") for _ in range(3)]
    (tmp_path / "straight").mkdir()
    (tmp_path / "killed").mkdir()
    whole = run(straight, 30)
    for lab, rounds in zip(parts, (5, 17, 30), strict=True):
        state = run(lab, rounds)
    assert [each for lab in parts for each in lab.ran] == straight.ran
    assert (
        [each.version for each in state.rounds] == [each.version for each in whole.rounds] == versions(3, 30)
    )
