"""Podman serves Docker's API: whether clusters, faults, attaching and the demo work with it as with Docker.

As root, in a storage of its own. What rootless Podman can do depends on the host: see docs/attach.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nemesis.event import Event
from nemesis.faults.bandwidth import bandwidth
from nemesis.faults.clock import clock
from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from nemesis.faults.pause import pause
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import agent_image, image_for
from pytest_kafkacheck.cluster.docker.podman import is_podman
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import CapabilityError
from pytest_kafkacheck.setup import debian, doctor
from pytest_kafkacheck.setup.capabilities import require_capabilities
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from tests.support.compose_project import NEEDS_COMPOSE
from tests.support.kafka_projects import brokers, project, state, wait_log
from tests.support.real_cluster import objects, own, round_of, wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root installs and starts Podman"),
]

PACKAGES = ["podman", "netavark", "aardvark-dns", "catatonit", "runc"]

CONTAINERS_CONF = """[containers]
default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]
[engine]
runtime = "runc"
"""
"""Podman wants higher limits than a sandbox may allow, and crun does not run with both versions of control groups."""


@pytest.fixture(scope="module")
def podman(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a new Podman, which the environment names while the tests run. It has the images of `engine`."""
    if shutil.which("podman") is None:
        debian.install(PACKAGES, why="the tests of Podman need it", say=print)
    folder = tmp_path_factory.mktemp("podman")
    (folder / "containers.conf").write_text(CONTAINERS_CONF)
    environment = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf")}
    command = ["podman", "--root", str(folder / "storage"), "--runroot", str(folder / "run")]
    socket = folder / "podman.sock"
    images = [engine.api.get_image(each) for each in (agent_image(), image_for("4.1.1", engine))]
    with pytest.MonkeyPatch.context() as patch, (folder / "service.log").open("wb") as log:
        service = subprocess.Popen(
            [*command, "system", "service", "--time=0", f"unix://{socket}"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            wait_until(socket.exists, limit=20)
            patch.setenv("DOCKER_HOST", f"unix://{socket}")
            client = connect()
            assert is_podman(client.api)
            for image in images:
                client.api.load_image(image)
            ensure_class_archives(client, "4.1.1", image_for("4.1.1", client), print)
            yield client
            client.close()
        finally:
            subprocess.run([*command, "rmi", "--all", "--force"], env=environment, capture_output=True)
            service.terminate()
            service.wait(timeout=20)
            subprocess.run(["umount", str(folder / "storage" / "overlay")], capture_output=True)


def test_the_doctor_names_the_engine_and_what_it_lacks(podman: Any) -> None:
    found = {each.name: each for each in doctor.examine()}
    assert found["engine"].what.startswith("Podman ")
    assert found["fast start"].state == "ok"
    limits = found["faults cpu, memory, oom"]
    if limits.state == "without":
        with pytest.raises(CapabilityError, match="cpu: it needs changes of a container's limits"):
            require_capabilities(podman, ["cpu"])
    assert {name for name, each in found.items() if each.state == "missing"} == set()


@pytest.mark.parametrize(
    "event",
    [
        isolate("2", lasting=3),
        pause("2", lasting=3),
        kill("2", lasting=3),
        bandwidth("2", lasting=3),
        clock("2", offset=3600, lasting=3),
    ],
    ids=lambda event: event.fault.name,
)
def test_faults_are_proved(cluster_in_podman: Any, event: Event) -> None:
    with cluster_in_podman.fault(event) as fault:
        assert fault.evidence
    assert cluster_in_podman.healthy()


@pytest.fixture(scope="module")
def cluster_in_podman(podman: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    run = own("podman")
    with running(podman, ClusterSpec(), run=run, logs=tmp_path_factory.mktemp("logs")) as cluster:
        round_of(cluster)
        yield cluster
    assert objects(podman, run) == []


def test_a_node_with_a_disk_of_its_own(podman: Any, tmp_path: Path) -> None:
    with running(podman, ClusterSpec(brokers=1, disk_mb=128), run=own("disk"), logs=tmp_path) as cluster:
        disk = cluster.nodes[1].disk
        assert disk.fill()[1] == 0
        assert disk.empty()[1] > 0
        disk.freeze(limit=20)
        assert disk.frozen()
        disk.thaw()


@NEEDS_COMPOSE
def test_a_compose_project_is_attached_and_left_as_it_was(podman: Any, tmp_path: Path) -> None:
    services = brokers(3)
    with project(podman, tmp_path, services) as name:
        wait_log(podman, name, services)
        look = state(podman, name)
        before = look()
        with attached(podman, f"compose:{name}") as cluster:
            for event in (isolate("2", lasting=3), pause("2", lasting=3), kill("2", lasting=3)):
                with cluster.fault(event) as fault:
                    assert fault.evidence, event.fault.name
        assert look() == before


@pytest.mark.usefixtures("podman")
def test_the_two_verdicts_of_the_demo(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest_kafkacheck", "demo", "--dir", str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "valid:   all" in done.stdout
