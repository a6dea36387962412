"""Matrices: their cells, what is impossible, and which cells share a run."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kafkacheck import ConfigMatrix, UsageError, scenarios
from pytest_kafkacheck.audit.events import BROKER_EVENTS
from pytest_kafkacheck.matrix.batch import MOST, Batch, batches
from pytest_kafkacheck.matrix.scenarios import all_scenarios

SETTINGS: dict[str, Any] = {"min.insync.replicas": [1, 2], "unclean.leader.election.enable": [True, False]}


def test_every_event_of_brokers_has_a_scenario() -> None:
    assert set(all_scenarios()) - {"undisturbed"} == set(BROKER_EVENTS)


def test_a_cell_is_named_after_what_differs() -> None:
    matrix = ConfigMatrix(acks=["all", 1], topic_config=SETTINGS) * scenarios("leader-killed", "power-loss")
    assert len(matrix) == 16
    assert [cell.id for cell in matrix][:2] == [
        "leader-killed-acks=all-min.isr=1-unclean=true",
        "leader-killed-acks=all-min.isr=1-unclean=false",
    ]
    assert len({cell.id for cell in matrix}) == 16
    (only,) = ConfigMatrix(replication=[3]) * scenarios("power-loss")
    assert only.id == "power-loss-acks=all"


def test_the_rules_of_the_audit_predict_and_the_user_may_state_something_else() -> None:
    matrix = ConfigMatrix(acks=["all", 1], topic_config={"min.insync.replicas": [2]}) * scenarios(
        "leader-killed"
    )
    assert [cell.expected for cell in matrix] == ["keeps", "loses"]
    stated = matrix.expecting(lambda cell: "unavailable" if cell.chosen.acks == "all" else None)
    assert [cell.expected for cell in stated] == ["unavailable", "loses"]


def test_impossible_cells_are_listed_and_the_rest_runs_only_if_told_to() -> None:
    values: dict[str, Any] = {
        "acks": ["all", 1],
        "idempotence": [True, False],
        "replication": [1, 2],
        "topic_config": {"min.insync.replicas": [1, 2]},
    }
    matrix = ConfigMatrix(**values) * scenarios("leader-killed")
    with pytest.raises(UsageError) as refused:
        _ = matrix.cells
    assert str(refused.value).startswith("7 of 16 cells are impossible: ")
    assert "acks=1-min.isr=1-replication=2-idempotence=true (enable.idempotence=true needs acks=all" in str(
        refused.value
    )
    assert "min.insync.replicas=2 is above the replication factor 1" in str(refused.value)
    rest = ConfigMatrix(**values, skip_impossible=True) * scenarios("leader-killed")
    assert len(rest.cells) == 9
    assert len(rest.impossible) == 7


def test_clients_are_varied_as_settings_are() -> None:
    values: dict[str, Any] = {"library": ["kafka-python", "java"], "client_version": [None, "3.7.2", "1.0.0"]}
    matrix = ConfigMatrix(**values, skip_impossible=True) * scenarios("leader-killed")
    assert [(cell.chosen.name, cell.describe()["library"]) for cell in matrix] == [
        ("library=kafka-python-client_version=default", "kafka-python"),
        ("library=java-client_version=default", "java"),
        ("library=java-client_version=3.7.2", "java-3.7.2"),
    ]
    reasons = matrix.impossible.values()
    assert sum("only library='java' has releases" in each for each in reasons) == 2
    assert sum("'1.0.0': expected a release of kafka-clients from 2.8.0" in each for each in reasons) == 1
    (batch,) = batches(matrix)
    assert {worker.library for worker in batch.experiment.workload.workers()} == {
        "kafka-python", "java", "java-3.7.2",
    }  # fmt: skip


def test_where_every_cell_is_impossible_nothing_runs() -> None:
    matrix = ConfigMatrix(acks=[1], idempotence=[True], skip_impossible=True) * scenarios("leader-killed")
    with pytest.raises(UsageError, match="every cell is impossible"):
        _ = matrix.cells


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"acks": "all"}, "ConfigMatrix.acks='all': expected a list of values"),
        ({"replication": []}, "ConfigMatrix.replication=\\[\\]: expected a list of values"),
        ({"topic_config": {"min.insync.replicas": 2}}, "expected a list of values, such as \\[1, 2\\]"),
        ({"topic_config": ["min.insync.replicas"]}, "expected lists of values by name of setting"),
    ],
)
def test_values_that_are_no_lists_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ConfigMatrix(**values)


def test_an_unknown_scenario_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UsageError, match="no scenario 'flood'; allowed are leader-killed, leader-isolated"):
        scenarios("flood")


def test_cells_share_a_run_where_only_topic_or_client_settings_differ() -> None:
    matrix = ConfigMatrix(acks=["all", 1], replication=[2, 3], version=["4.1.1", "3.9.2"]) * scenarios(
        "leader-killed", "power-loss"
    )
    found = batches(matrix)
    assert [len(batch.cells) for batch in found] == [4, 4, 4, 4]
    # Each release and kind of disk is one cluster.
    assert len({batch.experiment.cluster.digest for batch in found}) == 4
    many = ConfigMatrix(
        acks=["all", 1, 0], topic_config=SETTINGS | {"flush.messages": [1, 1000]}
    ) * scenarios("leader-killed")
    assert [len(batch.cells) for batch in batches(many)] == [MOST, MOST]


def test_a_scenario_whose_figures_need_the_whole_machine_runs_alone() -> None:
    found = batches(ConfigMatrix(acks=["all", 1]) * scenarios("undisturbed"))
    assert [len(batch.cells) for batch in found] == [1, 1]
    assert not found[0].experiment.faults


@pytest.mark.parametrize("name", all_scenarios())
@pytest.mark.parametrize("replication", [1, 2, 3])
def test_every_scenario_makes_an_experiment_that_its_cluster_can_run(name: str, replication: int) -> None:
    (cell,) = ConfigMatrix(replication=[replication]) * scenarios(name)
    batch = Batch((cell,))
    assert batch.experiment.workload.topics("r")[0].replication_factor == replication
    alone = batch.experiment_of(cell)
    assert alone.faults == batch.experiment.faults
    assert type(alone).from_json(alone.to_json()) == alone


def test_writes_are_looked_at_while_they_are_refused() -> None:
    matrix = ConfigMatrix(topic_config={"min.insync.replicas": [1, 2]}, elr=[True, False]) * scenarios(
        "isr-of-one-killed"
    )
    windows = {cell.chosen.name: sorted(cell.windows) for cell in matrix}
    assert windows == {
        "min.isr=1-elr=true": [-1],
        "min.isr=1-elr=false": [-1],
        "min.isr=2-elr=true": [-2],
        "min.isr=2-elr=false": [-2, -1],
    }
