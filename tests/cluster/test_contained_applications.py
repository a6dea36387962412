"""An application in containers, of an image or of a compose file, on real brokers and under faults."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck import (
    ClusterSpec,
    InfrastructureError,
    Pipeline,
    cpu,
    isolate,
    kill,
    memory,
    pause,
    stop,
)
from pytest_kafkacheck.cluster.docker import containers, reaper
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.spec.security import PASSWORD
from pytest_kafkacheck.experiment.applications.containers import owner
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.compose_project import NEEDS_COMPOSE
from tests.support.copier_image import COPIER, copier_image
from tests.support.real_cluster import objects, own, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.nightly]

ARGUMENTS = ["{bootstrap}", "{source}", "{sink}", "{group}", "{client}"]

COMPOSED = {name.upper(): f"{{{name}}}" for name in ("bootstrap", "source", "sink", "group", "client")}
"""Variables of the example's compose file."""

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
    """Its inputs have outputs at the end, which only the process that replaced it can have written. The engine pauses
    it until it is known to be in the middle of its work."""
    workload = Pipeline(image=image, command=ARGUMENTS, rate=50)
    faults = [kill("app:0", after="in-flight:app:0", lasting=0.5)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=0.5))
    run.assert_valid()
    ((name, (evidence, _)),) = faults_of(run).items()
    assert name == "kill-client"
    assert evidence["met"]["frozen"]
    assert evidence["met"]["count"] > 0
    printed = (run.path / "logs" / "client-app-0.log").read_text()
    assert "copies source-" in printed
    assert printed.endswith("stopped\n"), "by SIGTERM, which it took for what it is"
    assert gone(engine, run)


def test_the_kernel_counts_how_often_a_limit_was_reached(engine: Any) -> None:
    container = engine.containers.run(
        agent_image(), ["sleep", "60"], detach=True, labels=reaper.labels(own("limit"))
    )
    try:
        containers.limit_memory(engine.api, container.id, 16 << 20, name="the container")
        status, output = container.exec_run(["sh", "-c", "head -c 67108864 /dev/zero > /tmp/written"])
        assert status == 0, output
        pid = int(engine.api.inspect_container(container.id)["State"]["Pid"])
        found = containers.memory(pid, container.id)
        assert found is not None
        assert found.used <= 16 << 20
        assert found.reached > 0
    finally:
        container.remove(force=True)


def test_each_fault_of_an_image(kafkacheck: Execute, engine: Any, image: str) -> None:
    faults = [
        pause("app:1", after="in-flight:app:1", lasting=3),
        isolate("app:0", after="in-flight:app:0 from 7", lasting=6),
        cpu("app", at=14, lasting=3, cores=0.05),
        memory("app:1", after="in-flight:app:1 from 20", lasting=6, spare_mb=0),  # its journal needs more
        stop("app:0", after="in-flight:app:0 from 27", lasting=8),
        kill("coordinator:application", at=36, lasting=3),
    ]
    workload = Pipeline(image=image, command=ARGUMENTS, instances=2, restarts=20, rate=50)
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=4))
    run.assert_valid()
    found = faults_of(run)
    assert found.keys() == {"pause-client", "isolate-app", "cpu-app", "memory-app", "stop-client"}
    assert all(each["dropped"] for each in found["isolate-app"])
    assert gone(engine, run)


@pytest.mark.parametrize("way", ["image", pytest.param("compose", marks=NEEDS_COMPOSE)])
def test_an_application_gets_what_a_secured_cluster_asks_for(
    kafkacheck: Execute, image: str, way: str
) -> None:
    names = ("security.protocol", "sasl.mechanism", "sasl.jaas.config", "ssl.truststore.type",
             "ssl.truststore.certificates")  # fmt: skip
    settings = {f"CLIENT_{name.upper().replace('.', '_')}": f"{{{name}}}" for name in names}
    if way == "image":
        workload = Pipeline(image=image, command=ARGUMENTS, env=settings, rate=50)
    else:
        workload = Pipeline(
            compose=COPIER / "compose.yml", service="copier", env={**COMPOSED, **settings, "COPIER_IMAGE": image},
            rate=50,
        )  # fmt: skip
    cluster = ClusterSpec(security="SASL_SSL")
    run = kafkacheck(
        Experiment(
            workload=workload, cluster=cluster, faults=[kill("app", after="in-flight:app:0", lasting=1)]
        )
    )
    run.assert_valid()
    secret = re.compile(rf"{PASSWORD}(?!s/copier)".encode())  # the name of the image begins like it
    assert not [file for file in run.path.rglob("*") if file.is_file() and secret.search(file.read_bytes())]


@NEEDS_COMPOSE
def test_a_service_of_a_compose_file(kafkacheck: Execute, engine: Any, image: str) -> None:
    workload = Pipeline(
        compose=COPIER / "compose.yml",
        service="copier",
        env={**COMPOSED, "COPIER_IMAGE": image},
        instances=2,
        rate=50,
    )
    faults = [
        kill("app:0", after="in-flight:app:0", lasting=1),
        isolate("app:1", after="in-flight:app:1 from 4", lasting=8),
    ]
    run = kafkacheck(Experiment(workload=workload, faults=faults))
    run.assert_valid()
    assert faults_of(run).keys() == {"kill-client", "isolate-app"}
    assert (run.path / "logs" / "client-app-ledger.log").read_text() == "ledger is open\n"
    assert gone(engine, run)


def test_an_image_that_is_not_there(kafkacheck: Execute, engine: Any) -> None:
    def mine() -> list[str]:
        found = engine.api.containers(all=True, filters={"label": reaper.OWNER})
        us = str(os.getpid())
        return [each["Id"] for each in found if each["Labels"][reaper.OWNER].partition("@")[0] == us]

    before, workload = mine(), Pipeline(image="no-such-image:1", command=ARGUMENTS)
    with pytest.raises(
        InfrastructureError, match="the engine has no image 'no-such-image:1', and kafkacheck"
    ):
        kafkacheck(Experiment(workload=workload))
    assert mine() == before, "nothing was started"


def test_a_container_that_cannot_start(kafkacheck: Execute, engine: Any, image: str) -> None:
    """The JVM of the image refuses its argument, and ends at once."""
    workload = Pipeline(image=image, command=["-", *ARGUMENTS[:3]], restarts=1, quiet=4.0, settle=12.0)
    run = kafkacheck(Experiment(workload=workload, duration=2, expect="unknown"))
    assert run.result == "unknown"
    (found,) = (each for each in run.verdict.unknowns if "ended by itself with status 1" in each)
    assert f"app:0 (image {image}: - " in found
    assert "was started 2 times; its last output: " in found
    assert gone(engine, run)


SESSION = """
from pytest_kafkacheck import ClusterSpec, Experiment, Pipeline

def test_it(kafkacheck):
    workload = Pipeline(image={image!r}, command={command!r}, partitions=1, replication_factor=1)
    kafkacheck(Experiment(workload=workload, cluster=ClusterSpec(brokers=1, heap_mb=256), duration=600))
"""


def test_what_a_killed_session_left_is_removed_by_the_next_one(
    engine: Any, image: str, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(SESSION.format(image=image, command=ARGUMENTS))
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-m", "pytest", "test_it.py", "-p", "no:cacheprovider"]
        session = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)

    def mine() -> list[dict[str, Any]]:
        found = engine.api.containers(all=True, filters={"label": reaper.OWNER})
        return [each for each in found if each["Labels"][reaper.OWNER].partition("@")[0] == str(session.pid)]

    try:
        wait_until(lambda: any(each["Image"] == image and each["State"] == "running" for each in mine()), 120)
    finally:
        session.kill()
        session.wait()
    assert len(mine()) >= 4, "a broker, the application, and their pods"
    reaper.sweep(engine)
    assert mine() == []
