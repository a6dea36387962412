"""Pipeline: its topics, workers and order of stopping, the values that it refuses, its targets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.promises import PROMISES
from pytest_kafkacheck import (
    UsageError,
    cpu,
    cpu_app,
    isolate,
    isolate_app,
    isolate_client,
    kill,
    memory,
    memory_app,
    pause,
    stop,
)
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.conformance import check_workload
from workloads.pipeline import Pipeline
from workloads.reference import Reference

COMMAND = ["copier", "{bootstrap}", "{source}", "{sink}", "{group}"]


def ids(*_: Any) -> list[str]:
    return []


def pipeline(**values: Any) -> Pipeline:
    return Pipeline(**{"source": "orders", "sink": "invoices", "command": COMMAND, **values})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"command": "copier {bootstrap}"}, "Pipeline.command='copier {bootstrap}': expected program and arguments"),
        ({"command": [*COMMAND, "{sasl.password}"]}, "Pipeline.command: {sasl.password} is allowed only in env"),
        ({"command": []}, "Pipeline.command=[]: expected program and arguments as a list of texts"),
        ({"command": ["copier", 1]}, "Pipeline.command=['copier', 1]: expected program"),
        ({"command": ["copier", "{bootstrap}", "orders", "invoices"]},
         "expected the placeholders {source}, {sink} in the command or in env, because each run has"),
        ({"command": None}, "Pipeline.command=None: expected program and arguments"),
        ({"image": ""}, "Pipeline.image='': expected a name, or None"),
        ({"image": 5}, "Pipeline.image=5: expected a name, or None"),
        ({"image": "a", "compose": "c.yml", "service": "s"},
         "Pipeline.image='a' and compose='c.yml': expected one of them"),
        ({"compose": "c.yml"}, "Pipeline.compose='c.yml' and service=None: expected both, a compose file and"),
        ({"service": "s"}, "Pipeline.compose=None and service='s': expected both"),
        ({"compose": 5, "service": "s"}, "Pipeline.compose=5: expected the path of a compose file, or None"),
        ({"compose": "c.yml", "service": 5}, "Pipeline.service=5: expected a name, or None"),
        ({"image": "a", "command": []}, "Pipeline.command=[]: expected program and arguments as a list of texts"),
        ({"image": "a", "command": None},
         "Pipeline.command=None: expected the placeholders {bootstrap}, {source}, {sink} in the command or in env"),
        ({"env": {"A": 1}}, "Pipeline.env={'A': 1}: expected texts by name"),
        ({"env": []}, "Pipeline.env=[]: expected texts by name"),
        ({"source": "a b"}, "Pipeline.source='a b': expected letters"),
        ({"sink": "orders"}, "Pipeline.sink='orders': expected another topic than source"),
        ({"group": ""}, "Pipeline.group='': expected letters"),
        ({"instances": 0}, "Pipeline.instances=0: expected a whole number, 1 to 50"),
        ({"guarantee": "twice"},
         "Pipeline.guarantee='twice': expected 'at-least-once', 'at-most-once', 'exactly-once' or 'order-per-key'"),
        ({"keys": 3}, "Pipeline.keys=3: expected a whole number, 4 to"),
        ({"record": "{number}"}, "Pipeline.record='{number}': expected text with {token}"),
        ({"identify": 5}, "Pipeline.identify=5: expected a function"),
        ({"identify": lambda *_: []}, "define it at the top level of a file"),
        ({"aggregate": 5}, "Pipeline.aggregate=5: expected a function of key, inputs and outputs, or None"),
        ({"aggregate": lambda *_: True}, "define it at the top level of a file"),
        ({"aggregate": ids, "guarantee": "exactly-once"},
         "Pipeline.guarantee='exactly-once': with aggregate, that function says which outputs are right"),
        ({"aggregate": ids, "command": COMMAND[:-1]},
         "Pipeline.aggregate: expected the placeholder {group} in the command or in env"),
        ({"rate": -1}, "Pipeline.rate=-1"),
        ({"restarts": -1}, "Pipeline.restarts=-1"),
        ({"quiet": 0}, "Pipeline.quiet=0: expected seconds, 1 to 600"),
        ({"quiet": 60.0}, "Pipeline.quiet=60.0: expected less than settle, 60 s"),
        ({"settle": 1}, "Pipeline.settle=1"),
        ({"stop_timeout": 0}, "Pipeline.stop_timeout=0"),
        ({"partitions": 0}, "Pipeline.partitions=0"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        pipeline(**values)


def test_an_experiment_says_it_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="expected the placeholders"):
        Experiment(workload=Pipeline(command=["copier"]))


def test_the_application_ends_between_those_that_wait_for_its_output_and_those_that_record_it() -> None:
    made = pipeline(instances=2)
    roles = [each.role.name for each in made.workers()]
    assert roles == ["producer", "app", "app", "output-watcher", "output-auditor", "probe"]
    assert [each.instance for each in made.workers()] == [None, 0, 1, None, None, None]
    assert made.stop_order == (("producer",), ("output-watcher",), ("app",), ("output-auditor",))
    assert made.stop_limit > made.settle + made.stop_timeout
    assert made.requires <= PROMISES.keys()
    assert made.allowed <= ANOMALIES.keys()


def test_final_reads_leave_its_sink_out_and_names_are_those_of_the_run() -> None:
    made = pipeline()
    assert [each.name for each in made.topics("a1")] == ["orders-a1", "invoices-a1"]
    assert made.main_topic("a1") == "orders-a1"
    assert made.topics_of_others("a1") == {"invoices-a1"}
    assert pipeline(group="billing").aliases("a1") == {"billing": "billing-a1"}


def test_its_group_is_known_only_if_the_command_uses_it() -> None:
    unknown = pipeline(command=COMMAND[:-1])
    assert unknown.aliases("a1") == {}
    in_env = pipeline(command=["copier"], env={"A": "{bootstrap}/{source}/{sink}", "GROUP": "{group}"})
    assert in_env.aliases("a1") == {"application": "application-a1"}
    groups = [
        each.options["group"]
        for made in (unknown, in_env)
        for each in made.workers()
        if each.role.name == "output-auditor"
    ]
    assert groups == [None, "application"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"instances": 3, "partitions": 1, "keys": 1, "assignment": {0: [1, 2, 3]}},
        {"identify": ids, "env": {"A": "b"}, "guarantee": "order-per-key"},
        {"identify": ids, "aggregate": ids},
        {"image": "app:1"},
        {"image": "app:1", "command": None, "env": {"A": "{bootstrap}{source}{sink}"}},
        {"compose": Path("some") / "compose.yml", "service": "app"},
    ],
)
def test_it_comes_back_from_json_and_is_made_smaller(values: dict[str, Any]) -> None:
    made = pipeline(**values)
    check_workload(made)
    assert Pipeline.from_json(made.to_json()) == made
    for name, each in made.smaller():
        assert each != made, name
        check_workload(each)
    layout = dict.fromkeys(range(made.partitions), (3, 1, 2))
    assert made.with_layout(layout).topics("a1")[1].assignment == layout


def test_the_function_of_the_user_is_loaded_by_the_workers() -> None:
    stored = pipeline(identify=ids).identify
    assert isinstance(stored, dict)
    assert Reference.from_json(stored).load().__name__ == "ids"


def test_a_compose_file_is_found_from_another_folder() -> None:
    made = pipeline(compose="some/compose.yml", service="app")
    assert made.compose == str(Path.cwd() / "some" / "compose.yml")
    containers = [each.options.get("container") for each in made.workers()]
    assert containers[1] == {"compose": made.compose, "service": "app"}
    assert [each for each in containers if each] == containers[1:2]


def test_faults_name_the_application_and_its_instances() -> None:
    faults = [
        kill("app", at=1, lasting=1),
        pause("app:1", at=3, lasting=1),
        stop("app:0", at=5, lasting=1),
        kill("coordinator:application", at=7, lasting=1),
        kill("leader:invoices-0", at=9, lasting=1),
        isolate("app:1", at=11, lasting=1),
        cpu("app", at=13, lasting=1, cores=0.2),
        memory("app:0", at=15, lasting=1, spare_mb=4),
        isolate("producer", at=17, lasting=1),
    ]
    events = Experiment(workload=pipeline(instances=2), faults=faults).schedule.events
    clients = [(each.fault.name, str(each.target)) for each in events if each.fault.family == "clients"]
    assert clients == [
        ("kill-client", "app"),
        ("pause-client", "app:1"),
        ("stop-client", "app:0"),
        ("isolate-app", "app:1"),
        ("cpu-app", "app"),
        ("memory-app", "app:0"),
        ("isolate-client", "producer"),
    ]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            lambda: kill("app:2", at=1, lasting=1),
            "the application has 2 instances; allowed: app, or app:0 to app:1",
        ),
        (lambda: isolate_client("app", at=1, lasting=1), "app is a program of yours; use isolate_app('app')"),
        (lambda: isolate_client("app:1", at=1, lasting=1), "use isolate_app('app:1'), which cuts it"),
        (
            lambda: isolate_app("producer", at=1, lasting=1),
            "producer is no application of yours; allowed: app",
        ),
        (lambda: cpu_app("client:0", at=1, lasting=1), "client:0 is no application of yours; allowed: app"),
        (lambda: memory_app("readers", at=1, lasting=1), "the workload has no reader"),
        (lambda: kill("apps", at=1, lasting=1), "no target 'apps'; did you mean 'app'"),
    ],
)
def test_faults_that_cannot_be_are_refused_with_the_reason(fault: Any, said: str) -> None:
    with pytest.raises((UsageError, ValueError), match=re.escape(said)):
        Experiment(workload=pipeline(instances=2), faults=[fault()])


def test_two_faults_of_one_instance_at_the_same_time_are_refused() -> None:
    def experiment(other: str) -> Experiment:
        faults = [kill("app:0", at=1, lasting=4), pause(other, at=2, lasting=1)]
        return Experiment(workload=pipeline(instances=2), faults=faults)

    assert experiment("app:1").schedule.events
    for other in ("app:0", "app"):
        with pytest.raises(UsageError, match="blocks the same process"):
            experiment(other)
