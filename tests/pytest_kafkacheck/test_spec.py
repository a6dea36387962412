"""Wrong clusters and experiments are refused before anything starts, naming field, value and what is allowed."""

from __future__ import annotations

import json
import re

import pytest

from nemesis.api import isolate, kill, partition, pause
from pytest_kafkacheck.cluster.properties import Place, render
from pytest_kafkacheck.cluster.spec import ClusterSpec
from pytest_kafkacheck.errors import KafkacheckError, UsageError
from pytest_kafkacheck.experiment import Experiment
from workloads.log import AppendLog


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"brokers": 0}, "ClusterSpec.brokers=0: expected 1 to 9"),
        ({"brokers": "3"}, "ClusterSpec.brokers='3'"),
        ({"version": "3.9.2"}, "ClusterSpec.version='3.9.2'"),
        ({"version": "latest"}, "ClusterSpec.version='latest'"),
        ({"heap_mb": 64}, "ClusterSpec.heap_mb=64: expected 200 or more"),
        ({"config": {"min.insync.replica": 2}}, "did you mean 'min.insync.replicas'"),
        ({"config": {"unclean.leader.election.enable": "yes"}}, "expected true or false"),
        ({"config": {"num.io.threads": "many"}}, "expected a whole number"),
        ({"config": {"cleanup.policy": "delete"}}, "that is a topic setting"),
        ({"config": {"node.id": 7}}, "kafkacheck sets this itself"),
        ({"config": {"min.insync.replicas": 4}}, "above brokers=3"),
    ],
)
def test_wrong_cluster_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        ClusterSpec(**wrong)  # type: ignore[arg-type]


def test_usage_errors_are_value_errors_and_ours() -> None:
    assert issubclass(UsageError, ValueError)
    assert issubclass(UsageError, KafkacheckError)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"workload": "log"}, "Experiment.workload='log'"),
        ({"faults": [isolate(7, at=1, lasting=1)]}, "7"),
        ({"faults": [kill("leader:9", at=1, lasting=1)]}, "9"),
        ({"faults": isolate("leader", at=1, lasting=1)}, "write faults=[...]"),
        ({"faults": ["isolate"]}, "Experiment.faults"),
        ({"duration": -1}, "Experiment.duration=-1"),
        ({"cooldown": float("nan")}, "Experiment.cooldown=nan"),
        ({"expect": "fine"}, "Experiment.expect='fine'"),
        ({"cluster": ClusterSpec(brokers=1)}, "replication_factor=3"),
        ({"workload": AppendLog(topic_config={"min.insync": 1})}, "Kafka knows no topic setting"),
        ({"cluster": ClusterSpec(brokers=5, config={"min.insync.replicas": 5})}, "above replication_factor=3"),
    ],
)  # fmt: skip
def test_impossible_experiment_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        Experiment(**{"workload": AppendLog(), **wrong})  # type: ignore[arg-type]


def test_min_isr_above_replication_factor_is_refused_by_the_workload() -> None:
    with pytest.raises(ValueError, match=r"min\.insync\.replicas.*4.*replication_factor.*3"):
        AppendLog(topic_config={"min.insync.replicas": 4})


def test_experiment_survives_json() -> None:
    experiment = Experiment(
        name="all of it",
        workload=AppendLog(partitions=2, acks=1, topic_config={"min.insync.replicas": 2}),
        faults=[
            isolate("leader", at=1, lasting=2),
            kill(2, at=1.5, lasting=3),
            pause("controller", at=0, lasting=1),
            partition("leader:1", at=4, lasting=1, plane="replication"),
        ],
        cluster=ClusterSpec(config={"replica.lag.time.max.ms": 3000}),
        seed=7,
        expect="invalid",
    )
    again = Experiment.from_json(json.loads(json.dumps(experiment.to_json())))
    assert again == experiment


def test_json_of_another_format_is_refused() -> None:
    data = Experiment(workload=AppendLog()).to_json()
    with pytest.raises(UsageError, match="format 99"):
        Experiment.from_json({**data, "format": 99})
    del data["workload"]
    with pytest.raises(UsageError, match="not an experiment"):
        Experiment.from_json(data)


def test_settings_of_the_user_win_over_the_fast_profile_but_not_over_the_place() -> None:
    spec = ClusterSpec(config={"broker.session.timeout.ms": 9000})
    lines = render(spec, Place(2, 50002)).splitlines()
    assert "broker.session.timeout.ms=9000" in lines
    assert "node.id=2" in lines
    assert "advertised.listeners=INTERNAL://kafka2:9092,EXTERNAL://127.0.0.1:50002" in lines
    assert "controller.quorum.voters=1@kafka1:9093,2@kafka2:9093,3@kafka3:9093" in lines
    assert len(lines) == len({line.split("=")[0] for line in lines})


def test_every_setting_of_the_fast_profile_exists() -> None:
    from pytest_kafkacheck.cluster.properties import FAST
    from pytest_kafkacheck.cluster.settings import check_settings

    check_settings(FAST, kind="broker", where="FAST")


def test_equal_specs_are_equal_and_hash_alike() -> None:
    one = ClusterSpec(config={"num.io.threads": 4})
    two = ClusterSpec(config={"num.io.threads": "4"})
    assert one == two
    assert hash(one) == hash(two)
