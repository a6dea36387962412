"""A value of a wrong type, wherever the public interface takes one, is answered by a sentence and not by a defect."""

from __future__ import annotations

import inspect
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pytest_kafkacheck as api
from analyzers.verdict.verdict import judge
from pytest_kafkacheck.cluster.nodes.own_faults import around, beside
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.plugin.runner import Kafkacheck

FAULT = api.isolate("one", at=1, lasting=1)

JUNK: tuple[Any, ...] = (
    None, 3, -1, True, 1.5, float("nan"), 10**400, "x", "", b"x", [], [1], ["x"], [[1]], (1, 2), {}, {"a": 1}, {1: 2},
    object(), api.AppendLog(), api.Experiment, lambda: 1,
)  # fmt: skip

VALUES: dict[str, dict[str, Any]] = {
    "Experiment": {"workload": api.AppendLog()},
    "Generated": {"length": 10},
    "Pipeline": {"command": ["copy", "{bootstrap}", "{source}", "{sink}"]},
    "Soak": {"workloads": [api.AppendLog()]},
    "Topic": {"name": "orders", "partitions": 1, "replication_factor": 1},
    "clock": {"target": "one", "offset": 3},
    "configure": {"settings": {"min.insync.replicas": 1}},
    "configure_broker": {"settings": {"num.io.threads": 4}, "target": "one"},
    "every": {"seconds": 1, "part": [FAULT], "times": 3},
    "fence": {"target": "transaction:x"},
    "rebalance": {"target": "group:x"},
    "repeat": {"times": 3, "part": [FAULT]},
    "storm": {"parts": FAULT, "length": 3},
    **{name: {"target": "app"} for name in ("cpu_app", "isolate_app", "memory_app")},
    **{
        name: {"target": "producers"}
        for name in ("isolate_client", "kill_client", "pause_client", "stop_client")
    },
}
"""Values with which a call is right; those that a call needs and that are not here are filled from `COMMON`."""

COMMON = {"target": "one", "split": [[1], [2]]}

NOT_MADE_BY_TESTS = {
    "CellResult", "Cell", "DockerCluster", "Finding", "Kafkacheck", "Recording", "Run", "Sending",
    "TransactionalSending", "Verdict", "WorkerContext", "Workload",
    "Ending", "WorkerRole", "WorkerSpec",
}  # fmt: skip
"""kafkacheck makes them. `Workload` is abstract; the last three are checked where a role or a workload returns
them."""


def made_by_tests() -> list[str]:
    return [
        name
        for name in api.__all__
        if callable(value := getattr(api, name))
        and name not in NOT_MADE_BY_TESTS
        and not (inspect.isclass(value) and issubclass(value, Exception))
    ]


def call(function: Any, values: dict[str, Any]) -> None:
    parameters = inspect.signature(function).parameters
    kinds = {name: each.kind for name, each in parameters.items()}
    several = [name for name, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL]
    named = {name: value for name, value in values.items() if name not in several}
    function(*(values[name] for name in several if name in values), **named)


@pytest.mark.parametrize("name", made_by_tests())
def test_a_wrong_value_of_any_argument_is_answered_by_a_sentence(name: str) -> None:
    function = getattr(api, name)
    parameters = inspect.signature(function).parameters
    common = {
        key: COMMON[key] for key, each in parameters.items() if each.default is each.empty and key in COMMON
    }
    needed = common | VALUES.get(name, {})
    call(function, needed)
    for key in parameters:
        for value in JUNK:
            with suppress(ValueError):  # a UsageError is one; any other error fails the test
                call(function, {**needed, key: value})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (api.AppendLog(), "an Experiment, got AppendLog(...); did you mean Experiment(workload=AppendLog(...))?"),
        (api.Experiment, "expected an Experiment, got the class Experiment; did you mean Experiment(...)?"),
        (FAULT, "did you mean Experiment(workload=AppendLog(), faults=[isolate(...)])?"),
        (api.ClusterSpec(), "did you mean Experiment(workload=AppendLog(), cluster=ClusterSpec(...))?"),
        (None, "expected an Experiment, got None"),
        ([], "expected an Experiment, got []"),
    ],
)  # fmt: skip
def test_what_is_no_experiment_is_refused_everywhere(value: Any, said: str, tmp_path: Path) -> None:
    harness: Any = SimpleNamespace(run=lambda *_, **__: pytest.fail("it was run"))
    record: Any = None
    for seed in (0, 3):
        fixture = Kafkacheck(
            harness, name="x", unknown=False, seed=seed, is_repeated=False, cells=record, record=record
        )
        with pytest.raises(UsageError) as refused:
            fixture(value)
        assert said in str(refused.value)
    with Harness(tmp_path) as real:
        for use in (real.run, real.check, real.record):
            with pytest.raises(UsageError) as refused:
                use(value)
            assert said in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_faults_of_a_test_itself() -> None:
    cluster: Any = SimpleNamespace(run="x", nodes={})
    for value in JUNK:
        with pytest.raises(UsageError, match="expected one event such as isolate"), around(cluster, value):
            pass
    one: Any = FAULT
    for value in (one, *(value for value in JUNK if value not in ([], {}))):
        with (
            pytest.raises(UsageError, match=r"expected (a list of )?events such as"),
            beside(cluster, value, seed=0),
        ):
            pass


@pytest.mark.parametrize(
    ("name", "said"), [("lost-wriet", "; did you mean 'lost-write' or"), (3, "no anomaly 3; allowed are lost-write")]
)  # fmt: skip
def test_an_anomaly_that_does_not_exist_is_not_taken_for_one_that_was_not_found(name: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        api.Run(Path("kept"), judge("r1")).assert_invalid(name)
    assert said in str(refused.value)
