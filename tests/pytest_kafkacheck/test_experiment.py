"""Impossible experiments are refused before anything starts, whether written in Python or in a file; errors name
field, value and allowed values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.bounds import Bounds
from analyzers.verdict.promises import ALWAYS_REQUIRED
from pytest_kafkacheck import configure, configure_broker, isolate, kill, partition, pause
from pytest_kafkacheck.cluster.spec.settings import RACK_AWARE, SELECTOR
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.append_log import AppendLog
from workloads.groups import Groups
from workloads.sessions import Sessions


class RequiresTooMuch(AppendLog):
    @property
    def requires(self) -> frozenset[str]:
        return frozenset({"everything"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workload": "log"}, "Experiment.workload='log': expected a workload, such as AppendLog()"),
        ({"workload": AppendLog}, "is a class, write workload=AppendLog(...)"),
        ({"requires": ["session-read"]}, "did you mean 'session-reads'"),
        ({"faults": [isolate(7, at=1, lasting=1)]}, "7"),
        ({"faults": [kill("leader:9", at=1, lasting=1)]}, "9"),
        ({"faults": isolate("leader", at=1, lasting=1)}, "write faults=[...]"),
        ({"faults": ["isolate"]}, "Experiment.faults"),
        ({"faults": None}, "Experiment.faults=None: expected a list of events"),
        ({"faults": ""}, "Experiment.faults=''"),
        ({"faults": {}}, "Experiment.faults={}"),
        ({"cluster": None}, "Experiment.cluster=None: expected a ClusterSpec"),
        ({"cluster": {"brokers": 3}}, "Experiment.cluster={'brokers': 3}"),
        ({"seed": "x"}, "Experiment.seed='x': expected a whole number"),
        ({"seed": None}, "Experiment.seed=None"),
        ({"name": 3}, "Experiment.name=3: expected text"),
        ({"duration": 10**400}, "expected seconds, 0 or more"),
        ({"cooldown": True}, "Experiment.cooldown=True"),
        ({"faults": [configure({"min.insync.replica": 1}, lasting=1)]},
         "event 'configure-0': configure settings['min.insync.replica']='1': Kafka knows no topic setting"),
        ({"faults": [configure({"min.insync.replicas": "two"}, lasting=1)]}, "expected a whole number"),
        ({"faults": [configure_broker({"log.cleaner.thread": 1}, 1, lasting=1)]},
         "event 'configure-broker-0': configure-broker settings['log.cleaner.thread']='1': Kafka knows no broker"),
        ({"duration": -1}, "Experiment.duration=-1"),
        ({"cooldown": float("nan")}, "Experiment.cooldown=nan"),
        ({"live_checks": 1}, "Experiment.live_checks=1: expected True or False"),
        ({"bounds": 5}, "Experiment.bounds=5: expected Bounds, such as Bounds(unavailable=10)"),
        ({"bounds": Bounds(orphaned=60)}, "orphaned=60 is about partitions of groups, and AppendLog has none"),
        ({"bounds": Bounds(standstill=9)}, "standstill=9 is about an application of yours, and AppendLog runs none"),
        ({"bounds": Bounds(recovery=5), "workload": AppendLog(acks=0, idempotence=False)},
         "recovery=5 is about acknowledgements, and AppendLog has none, as with acks=0"),
        ({"requires": ["acks"]}, "Experiment.requires=['acks']: no promise named acks; there are acks-"),
        ({"requires": "transactions"}, "Experiment.requires='transactions': expected a collection of names"),
        ({"requires": 3}, "Experiment.requires=3: expected a collection of names of promises"),
        ({"workload": RequiresTooMuch()}, "RequiresTooMuch.requires=frozenset({'everything'}): no promise named"),
        ({"expect": "fine"}, "Experiment.expect='fine'"),
        ({"cluster": ClusterSpec(brokers=1)}, "replication_factor=3"),
        ({"workload": AppendLog(topic_config={"min.insync": 1})}, "Kafka knows no topic setting"),
        ({"cluster": ClusterSpec(brokers=5, config={"min.insync.replicas": 5})}, "above replication_factor=3"),
    ],
)  # fmt: skip
def test_impossible_experiment_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Experiment(**{"workload": AppendLog(), **wrong})  # type: ignore[arg-type]


def test_min_isr_above_replication_factor_is_refused_by_the_workload() -> None:
    with pytest.raises(ValueError, match=r"min\.insync\.replicas.*4.*replication_factor.*3"):
        AppendLog(topic_config={"min.insync.replicas": 4})


def test_an_experiment_round_trips_through_json() -> None:
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
        bounds=Bounds(unavailable=20, recovery=9.5),
        requires=["transactions", "acks-during-faults"],
        live_checks=True,
        expect="invalid",
    )
    again = Experiment.from_json(json.loads(json.dumps(experiment.to_json())))
    assert again == experiment
    assert again.required == {"transactions", "acks-during-faults"}
    assert Experiment(workload=AppendLog()).required == AppendLog().requires | ALWAYS_REQUIRED


def test_no_promise_may_be_required() -> None:
    none = Experiment(workload=AppendLog(), requires=())
    assert Experiment.from_json(none.to_json()).required == frozenset()


def test_only_stated_bounds_are_written() -> None:
    """Experiments that were recorded before bounds existed can still be read."""
    data = Experiment(workload=AppendLog()).to_json()
    assert "bounds" not in data
    assert Experiment.from_json(data).bounds == Bounds()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"recovery": -1}, "Experiment.bounds: recovery: expected seconds"),
        ({"recover": 1}, "Experiment.bounds: no bound named recover"),
        (None, "Experiment.bounds: expected an object, got None"),
    ],
)
def test_bounds_of_a_file_are_checked(wrong: object, message: str) -> None:
    data = {**Experiment(workload=AppendLog()).to_json(), "bounds": wrong}
    with pytest.raises(UsageError, match=re.escape(message)):
        Experiment.from_json(data)


def test_json_of_another_format_is_refused() -> None:
    data = Experiment(workload=AppendLog()).to_json()
    with pytest.raises(UsageError, match="format 99"):
        Experiment.from_json({**data, "format": 99})
    del data["workload"]
    with pytest.raises(UsageError, match="not an experiment"):
        Experiment.from_json(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workload": {"type": "Ledger"}}, "workload type 'Ledger': expected one of Admin, AppendLog"),
        ({"workload": {"type": []}}, "workload type []"),
        ({"workload": {"type": "AppendLog", "topic_config": 3}}, "AppendLog.topic_config=3"),
        ({"faults": [{"id": "mine", "fault": "kill", "target": 1, "at": "x", "lasting": 1}]}, "'id': 'mine'"),
        ({"cluster": {"listeners": 3}}, "ClusterSpec.listeners=3"),
        ({"seed": []}, "Experiment.seed=[]"),
        ({"more": 1}, "'more'"),
    ],
)
def test_a_file_changed_by_hand_is_refused_by_name(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(Experiment(workload=AppendLog()).to_json() | change))
    with pytest.raises(UsageError, match=re.escape(message)) as refused:
        Experiment.read(file)
    assert str(file) in str(refused.value)


@pytest.mark.parametrize("text", ["null", "3", "[1]", '"x"', "NaN", "[" * 100_000, '{"a":' * 100_000, "\x00"])
def test_a_file_without_an_experiment_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "experiment.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=re.escape(str(file))):
        Experiment.read(file)


def test_a_workload_that_the_release_cannot_have_is_refused() -> None:
    workload = Groups(protocol="consumer", library="confluent-kafka")
    assert Experiment(workload=workload, cluster=ClusterSpec(version="4.1.1")).workload == workload
    with pytest.raises(
        UsageError, match=r"Groups needs Kafka 4\.0 or later .* ClusterSpec\.version='3\.9\.2'"
    ):
        Experiment(workload=workload, cluster=ClusterSpec(version="3.9.2"))
    Experiment(workload=Groups(), cluster=ClusterSpec(version="3.9.2"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"config": {SELECTOR: RACK_AWARE}}, "ClusterSpec.racks=() with 3 brokers gives fewer than 2 racks"),
        (
            {"racks": ("a", "a"), "config": {SELECTOR: RACK_AWARE}},
            "ClusterSpec.racks=('a', 'a') with 3 brokers gives fewer than 2 racks",
        ),
        ({"racks": ("a", "b")}, f"ClusterSpec.config has no {SELECTOR}"),
    ],
)
def test_a_cluster_that_cannot_serve_reads_from_followers_is_refused(
    values: dict[str, Any], said: str
) -> None:
    cluster = ClusterSpec(**values)
    assert Experiment(workload=Sessions(), cluster=cluster).cluster == cluster
    with pytest.raises(UsageError, match="Sessions reads from followers") as refused:
        Experiment(workload=Sessions(read_from="follower"), cluster=cluster)
    assert said in str(refused.value)


def test_a_cluster_with_racks_and_a_selector_can() -> None:
    cluster = ClusterSpec(racks=("a", "b"), config={SELECTOR: RACK_AWARE})
    Experiment(workload=Sessions(read_from="follower"), cluster=cluster)
    # Brokers that are there already are asked before the load.
    Experiment(workload=Sessions(read_from="follower"), cluster=ClusterSpec(attached=[1, 2, 3]))
