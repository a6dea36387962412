"""Experiments are written as Python source that makes an equal experiment."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Mapping
from typing import Any

import pytest

import pytest_kafkacheck as api
from analyzers.catalogue.bounds import Bounds
from nemesis.event import Event
from nemesis.schedule import Schedule
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.fault_functions import FAULT_FUNCTIONS
from pytest_kafkacheck.shrink.source import WIDTH, pytest_file
from workloads.append_log import AppendLog


def loaded(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "test_minimal.py", "exec"), names)
    return names


EVERY = {
    "configure": lambda make: make({"min.insync.replicas": 1}, at=1, lasting=2),
    "configure_broker": lambda make: make({"log.cleaner.threads": 2}, 1, at=1, lasting=2),
    "clock": lambda make: make(1, lasting=2, ppm=5.5),
    "add_broker": lambda make: make(at=1, lasting=2),
    "delete_controller": lambda make: make(after="controller-change"),
    "partition": lambda make: make([[1], [2, 3]], at=1.25, lasting=2, plane="replication"),
    "fence": lambda make: make("transaction:transfer-1", at=1),
    "rebalance": lambda make: make("group:readers", at=1),
}


def an_event(name: str, **options: Any) -> Event:
    """An event of the fault with that public function, made with the arguments that it needs."""
    function = getattr(api, name)
    if name in EVERY:
        made: Event = EVERY[name](function)
        return made
    parameters = inspect.signature(function).parameters
    first = next(iter(parameters.values()))
    clients = name.endswith(("_client", "_app"))
    arguments = [] if first.default is not first.empty else ["producer" if clients else "leader:1"]
    if "lasting" in parameters:
        options["lasting"] = 2.5
    event: Event = function(*arguments, at=3, **options)
    return event


def unchecked(events: list[Event]) -> Experiment:
    """An experiment whose faults are not checked: no cluster can have all of them."""
    experiment = Experiment(workload=AppendLog())
    object.__setattr__(experiment, "faults", Schedule.of(events).events)
    return experiment


@pytest.mark.parametrize("name", FAULT_FUNCTIONS)
def test_every_fault_is_written_by_its_function(name: str) -> None:
    event = an_event(name)
    text = pytest_file(unchecked([event]), about="x")
    assert f"{name}(" in text
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    (call,) = [each for each in calls if getattr(each.func, "id", "") == name]
    made = eval(ast.unparse(call), vars(api))
    assert made.named(event.id) == event
    assert "at=3.0" not in text


@pytest.mark.parametrize(
    "experiment",
    [
        Experiment(workload=AppendLog()),
        Experiment(
            name='of "all" \\ sorts',
            workload=AppendLog(
                partitions=2,
                acks=1,
                rate=None,
                topic_config={"min.insync.replicas": 2, "unclean.leader.election.enable": True},
                client={"linger_ms": 5},
                assignment={0: (1, 2, 3), 1: (3, 2, 1)},
            ),
            faults=[
                api.kill("leader:1", at=0.5, lasting=3).named("kill-7"),
                api.partition([[1], [2, 3]], at=4, lasting=1.5, one_way="in"),
                api.partition("leader", at=7, lasting=1, ports=[9092, 1]),
                api.halves(at=9, lasting=1),
                api.loss(2, at=11, lasting=1, percent=20),
                api.restart("1,2", after="acks:500", clean=False),
                api.configure({"min.insync.replicas": 1, "min.cleanable.dirty.ratio": 0.5}, at=20, lasting=3),
            ],
            cluster=ClusterSpec(
                version="4.3.0", brokers=5, racks=("a",), config={"log.flush.interval.ms": 7}
            ),
            duration=2.5,
            cooldown=0,
            seed=11,
            bounds=Bounds(unavailable=0.5, recovery=20),
            requires={"session-reads", "acks-during-faults"},
            expect="invalid",
        ),
    ],
)
def test_the_source_makes_an_equal_experiment(experiment: Experiment) -> None:
    text = pytest_file(experiment, about='with """ and \\ in it')
    names = loaded(text)
    assert names["EXPERIMENT"] == experiment
    assert callable(names["test_minimal"])
    assert max(map(len, text.splitlines())) <= WIDTH + 10
    given: Mapping[str, Any] = json.loads(json.dumps(names["EXPERIMENT"].to_json()))
    assert Experiment.from_json(given) == experiment


def test_the_whole_text_of_a_minimal_test() -> None:
    experiment = Experiment(
        workload=AppendLog(acks=1, producers=1),
        faults=[api.isolate("leader", at=3.0, lasting=8), api.kill("one", at=4, lasting=2).named("kill-9")],
        seed=4,
    )
    assert (
        pytest_file(experiment, about="Lost.")
        == '''"""Lost.
"""

from pytest_kafkacheck import AppendLog, Experiment, isolate, kill

EXPERIMENT = Experiment(
    workload=AppendLog(acks=1, producers=1),
    faults=[
        isolate("leader", at=3, lasting=8),
        kill("one", at=4, lasting=2).named("kill-9"),
    ],
    seed=4,
)


def test_minimal(kafkacheck):
    kafkacheck(EXPERIMENT).assert_valid()
'''
    )
