"""To which releases the nodes of a cluster can move, and what an experiment refuses before anything starts."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from pytest_kafkacheck import AppendLog, ClusterSpec, Experiment, Generated, UsageError, upgrade
from pytest_kafkacheck.cluster.spec.moves import PROTOCOL_VERSION, moved, next_release
from pytest_kafkacheck.cluster.spec.release import NEWEST, RELEASES
from pytest_kafkacheck.errors import CapabilityError
from pytest_kafkacheck.experiment.clusters.attached import refuse_changes
from pytest_kafkacheck.experiment.clusters.processes import NoEngine, ProcessClusters


def experiment(*events, **spec) -> Experiment:
    return Experiment(workload=AppendLog(), cluster=ClusterSpec(**spec), faults=events)


def test_each_line_can_move_to_the_next_one_in_each_mode() -> None:
    for line, following in pairwise(RELEASES.values()):
        for mode in set(line.modes) & set(following.modes):
            spec = ClusterSpec(version=line.tested, zookeepers=int(mode == "zookeeper"))
            assert next_release(spec) == following.tested
    assert next_release(ClusterSpec(version=NEWEST.tested)) is None
    assert next_release(ClusterSpec(version="3.9.2", zookeepers=1)) is None


def test_nodes_in_zookeeper_mode_speak_the_older_protocol() -> None:
    spec = ClusterSpec(version="2.8.2", zookeepers=1)
    assert moved(spec, "3.0.2").config == {PROTOCOL_VERSION: "2.8"}
    assert moved(moved(spec, "3.0.2"), "2.8.1").config == {PROTOCOL_VERSION: "2.8"}
    assert moved(spec, "2.8.0").config == {}
    own = ClusterSpec(version="2.8.2", zookeepers=1, config={PROTOCOL_VERSION: "2.7"})
    assert moved(own, "3.0.2").config == {PROTOCOL_VERSION: "2.7"}


@pytest.mark.parametrize(
    ("spec", "to", "said"),
    [
        (
            {"version": "4.2.2"},
            "4.1.1",
            "the cluster has metadata.version 29, and Kafka 4.1 supports 7 to 27",
        ),
        (
            {"version": "3.9.2", "features": {"metadata.version": "3.3-IV2"}},
            "4.0.0",
            "metadata.version 6, and",
        ),
        ({"version": "3.9.2", "zookeepers": 1}, "4.0.0", "Kafka 4.0 removed ZooKeeper mode"),
        ({}, "2.7.0", "Kafka 2.7 is too old"),
    ],
    ids=["features", "features that are too old", "zookeeper", "too old"],
)
def test_a_release_that_cannot_run_the_cluster_is_refused(spec: dict, to: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"Experiment.faults: event 'upgrade-0': ") as refused:
        experiment(upgrade(to=to), **spec)
    assert said in str(refused.value)


def test_feature_levels_that_the_older_release_knows_let_nodes_move_back() -> None:
    for others in ({}, {"streams.version": 0}):
        spec = ClusterSpec(version="4.2.2", features={"metadata.version": "4.1", **others})
        assert moved(spec, "4.1.1").features == {"metadata.version": 27}


def test_an_experiment_names_the_release() -> None:
    """A later version of kafkacheck may know a later patch release of that line."""
    wanted = RELEASES["4.2"].tested
    made = experiment(upgrade(at=3), version="4.1.1")
    assert [event.fault.moves_to for event in made.schedule.events] == [wanted]
    assert Experiment.from_json(json.loads(json.dumps(made.to_json()))) == made
    drawn = Experiment(
        workload=AppendLog(), faults=Generated(weights={"upgrade": 1.0}, events=1, clients=True)
    )
    assert {event.fault.moves_to for event in drawn.schedule.events} == {wanted}


@pytest.mark.parametrize(
    ("target", "spec", "said"),
    [
        ("all", {"version": NEWEST.tested}, "upgrade: no later line of releases is known"),
        (
            "201",
            {"version": "2.8.2", "zookeepers": 1},
            "it moves brokers and controllers, and no ZooKeeper node",
        ),
    ],
)
def test_an_impossible_target_is_refused(target: str, spec: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        experiment(upgrade(target), **spec)


def test_clusters_that_cannot_have_another_release_refuse_it() -> None:
    made = experiment(upgrade())
    with pytest.raises(UsageError, match="upgrade changes settings, data or members"):
        refuse_changes(made.schedule.events)
    with pytest.raises(CapabilityError, match="upgrade: its nodes share the files of one release"):
        ProcessClusters(NoEngine(), print).check(made.cluster, made.schedule.events)
