"""Matrices on real clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck import ConfigMatrix, scenarios
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.matrix.batch import run_cells
from pytest_kafkacheck.matrix.cell import Cell
from pytest_kafkacheck.matrix.cell_result import CellResult
from pytest_kafkacheck.run import Run

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly]

SETTINGS: dict[str, Any] = {"min.insync.replicas": [1, 2], "unclean.leader.election.enable": [True, False]}


def unexpected(results: list[CellResult]) -> list[str]:
    return [
        f"{each.cell.id}: {each.verdict} ({each.shown.path})"
        for each in results
        if each.state != "as predicted"
    ]


def run(harness: Harness, cells: tuple[Cell, ...], tries: int = 1) -> list[CellResult]:
    return run_cells(harness, cells, tries=tries, say=print)


def test_the_cells_of_the_example_are_as_it_says(harness: Harness) -> None:
    """examples/test_matrix.py shows the same with a run for each cell, and looks at each more closely."""
    matrix = ConfigMatrix(acks=["all", 1], topic_config=SETTINGS) * scenarios("isr-of-one-killed")
    results = run(harness, matrix.cells)
    assert not unexpected(results)
    assert {each.cell.chosen.name for each in results if each.shown.lost} == {
        "acks=all-min.isr=1-unclean=true",
        "acks=1-min.isr=1-unclean=true",
        "acks=1-min.isr=2-unclean=true",
        "acks=1-min.isr=2-unclean=false",
    }


@pytest.mark.parametrize("repetition", range(3))
def test_the_matrix_of_the_documents_is_as_predicted_every_time(harness: Harness, repetition: int) -> None:
    """And with acks=0. A loss that did not occur would be tried again; here, each cell has one try."""
    matrix = ConfigMatrix(acks=["all", 1, 0], topic_config=SETTINGS) * scenarios(
        "leader-isolated", "isr-of-one-killed", "power-loss", "rolling-restart"
    )
    assert not unexpected(run(harness, matrix.cells)), f"repetition {repetition}"


@pytest.mark.parametrize("elr", [True, False])
def test_every_other_scenario_is_as_predicted(harness: Harness, elr: bool) -> None:
    matrix = ConfigMatrix(acks=["all", 1], topic_config=SETTINGS, elr=[elr]) * scenarios(
        "leader-killed",
        "leader-wiped",
        "isr-of-one-wiped",
        "power-loss-one",
        "last-replica-power-loss",
        "rack-lost",
    )
    assert not unexpected(run(harness, matrix.cells))


@pytest.mark.parametrize("replication", [1, 2])
def test_fewer_replicas_are_as_predicted(harness: Harness, replication: int) -> None:
    matrix = ConfigMatrix(
        acks=["all", 1, 0],
        replication=[replication],
        topic_config={"min.insync.replicas": [replication], "flush.messages": [1, 100_000]},
    ) * scenarios("leader-killed", "leader-isolated", "leader-wiped", "power-loss", "rolling-restart")
    assert not unexpected(run(harness, matrix.cells))


def test_a_cell_can_be_explained_and_run_again_on_its_own(harness: Harness) -> None:
    (cell,) = ConfigMatrix(acks=[1]) * scenarios("leader-killed")
    (result,) = run(harness, (cell,))
    assert result.state == "as predicted"
    home = Path(result.shown.path)
    again = harness.judge(home)
    assert isinstance(again, Run)
    again.assert_invalid("lost-write")
    assert "acks=1 is answered before any follower has the record" in again.text()


def test_throughput_is_compared_without_faults(harness: Harness) -> None:
    matrix = ConfigMatrix(acks=["all", 1]) * scenarios("undisturbed")
    results = run(harness, matrix.cells)
    assert not unexpected(results)
    assert all(each.shown.throughput and each.shown.throughput > 0 for each in results)
