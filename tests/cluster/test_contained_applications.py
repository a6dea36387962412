"""An application in containers, of an image or of a compose file, on real brokers and under faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck import Pipeline, cpu, isolate, kill, memory, pause, stop
from pytest_kafkacheck.experiment.applications.containers import owner
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.compose_project import NEEDS_COMPOSE
from tests.support.copier_image import COPIER, copier_image
from tests.support.real_cluster import objects

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

ARGUMENTS = ["{bootstrap}", "{source}", "{sink}", "{group}", "{client}"]

Execute = Callable[[Experiment], Run]


@pytest.fixture(scope="session")
def image(engine: Any) -> Iterator[str]:
    with copier_image(engine) as name:
        yield name


def faults_of(run: Run) -> dict[str, list[dict[str, Any]]]:
    """What proved their beginning and their end, by name; all took effect."""
    table = pq.ParquetFile(run.path / "history" / "operations" / "part-0.parquet").read()
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        if row["f"].endswith(("-client", "-app")):
            value = json.loads(row["value"])
            assert value["effective"], row
            found.setdefault(row["f"], []).append(value["evidence"])
    return found


def gone(engine: Any, run: Run) -> bool:
    return not objects(engine, owner(run.path.name.rpartition("-")[2]))


def test_an_image_is_killed_and_started_again(kafkacheck: Execute, engine: Any, image: str) -> None:
    workload = Pipeline(image=image, command=ARGUMENTS, rate=50)
    run = kafkacheck(Experiment(workload=workload, faults=[kill("app", at=1, lasting=0.5)], cooldown=0.5))
    run.assert_valid()
    assert faults_of(run).keys() == {"kill-client"}
    printed = (run.path / "logs" / "client-app-0.log").read_text()
    assert printed.count("copies source-") == 2, "by the first process, and by the one that replaced it"
    assert printed.rstrip().endswith("stopped"), "by SIGTERM, which it took for what it is"
    assert gone(engine, run)


@pytest.mark.nightly
def test_each_fault_of_an_image(kafkacheck: Execute, engine: Any, image: str) -> None:
    faults = [
        pause("app:1", at=2, lasting=3),
        isolate("app:0", at=6, lasting=4),
        cpu("app", at=11, lasting=3, cores=0.05),
        memory("app:1", at=16, lasting=4, spare_mb=0),
        stop("app:0", at=22, lasting=8),
        kill("coordinator:application", at=31, lasting=3),
    ]
    workload = Pipeline(image=image, command=ARGUMENTS, instances=2, restarts=20, rate=50)
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=4))
    run.assert_valid()
    found = faults_of(run)
    assert found.keys() == {"pause-client", "isolate-app", "cpu-app", "memory-app", "stop-client"}
    assert all(each["dropped"] for each in found["isolate-app"])
    assert gone(engine, run)


@NEEDS_COMPOSE
@pytest.mark.nightly
def test_a_service_of_a_compose_file(kafkacheck: Execute, engine: Any, image: str) -> None:
    env = {name.upper(): f"{{{name}}}" for name in ("bootstrap", "source", "sink", "group", "client")}
    workload = Pipeline(
        compose=COPIER / "compose.yml",
        service="copier",
        env={**env, "COPIER_IMAGE": image},
        instances=2,
        rate=50,
    )
    faults = [kill("app:0", at=1, lasting=1), isolate("app:1", at=3, lasting=2)]
    run = kafkacheck(Experiment(workload=workload, faults=faults))
    run.assert_valid()
    assert faults_of(run).keys() == {"kill-client", "isolate-app"}
    assert (run.path / "logs" / "client-app-ledger.log").read_text() == "ledger is open\n"
    assert gone(engine, run)
