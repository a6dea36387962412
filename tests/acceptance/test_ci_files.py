"""The steps of the files that ``kafkacheck init --ci`` writes, run in containers that have Debian, Python and Java.

GitHub's jobs run on a machine with an engine: their container has the engine's socket, its command and the network of
this host. GitLab's jobs reach the engine of a service over TCP: their container has a network of its own, in which
`docker` is a relay to the engine. Neither has the service's own actions, nor a registry of packages: pip gets them
from a folder. Java is there, as on GitHub's machines; where GitLab's file installs it, nothing is left to do.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import is_present
from pytest_kafkacheck.setup.image_build import build_from_debian
from tests.support.engine_relay import SOCKET, bridge_address, relayed

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(3600)]

IMAGE = "kafkacheck-test/ci:bookworm"
PACKAGES = ("ca-certificates", "default-jre-headless", "python3", "python3-venv")

SHORT = {"--hours 4": "--rounds 1", "--shrink 20": "--shrink 1", "kafkacheck/*": "kafkacheck/base"}
"""What a step says, and what the test runs in its place."""

PIP = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "PIP_NO_COMPILE": "1"}
PATH = {"PATH": "/venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"}


@dataclass(frozen=True)
class Runner:
    """A container for the jobs of a service. folder: /projects in it."""

    service: str
    container: Any
    folder: Path
    environment: Mapping[str, str]

    def project(self, name: str) -> Path:
        """A folder with what `init` writes, for one job."""
        home = self.folder / name
        home.mkdir()
        assert cli.main(["init", str(home), "--ci", self.service]) == cli.AS_EXPECTED
        return home

    def run(self, step: str, home: Path, **more: str) -> None:
        """As the service's shell runs it."""
        for said, short in SHORT.items():
            step = step.replace(said, short)
        inside = f"/projects/{home.relative_to(self.folder)}"
        summary = {"GITHUB_STEP_SUMMARY": f"{inside}/step.md"}
        environment = {**PATH, **PIP, **summary, **self.environment, **more}
        done = self.container.exec_run(["bash", "-e", "-c", step], environment=environment, workdir=inside)
        assert done.exit_code == 0, f"{step}\n{done.output.decode(errors='replace')}"


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="module")
def image(engine: Any) -> str:
    if not is_present(engine, IMAGE):
        build_from_debian(engine, IMAGE, PACKAGES, print)
    return IMAGE


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package's wheel and all that it needs."""
    home = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(home), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = home.glob("*.whl")
    venv.create(home / "venv", with_pip=True)
    download = [home / "venv/bin/python", "-m", "pip", "download", "-q", "-d", home]
    subprocess.run([*download, "-c", ROOT / "constraints.txt", wheel, "setuptools", "wheel"], check=True)
    return home


@contextmanager
def running(
    engine: Any,
    image: str,
    service: str,
    folder: Path,
    mounts: Mapping[str, str],
    environment: Mapping[str, str],
    **options: Any,
) -> Iterator[Runner]:
    volumes = {str(folder): "/projects", **mounts}
    container = engine.containers.run(
        image,
        ["sleep", "3600"],
        volumes={source: {"bind": target, "mode": "rw"} for source, target in volumes.items()},
        detach=True,
        **options,
    )
    try:
        runner = Runner(service, container, folder, environment)
        # Debian's own environment takes no packages of pip.
        runner.run("python3 -m venv /venv", folder)
        yield runner
    finally:
        container.remove(force=True)


@pytest.fixture(scope="module")
def github(
    engine: Any, image: str, wheels: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runner]:
    command = shutil.which("docker")
    assert command is not None
    mounts = {str(wheels): "/wheels", SOCKET: SOCKET, command: "/usr/local/bin/docker"}
    numbers = {"GITHUB_RUN_NUMBER": "1"}
    with running(
        engine, image, "github", tmp_path_factory.mktemp("g"), mounts, numbers, network_mode="host"
    ) as found:
        yield found


@pytest.fixture(scope="module")
def gitlab(
    engine: Any, image: str, wheels: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runner]:
    mounts, numbers = {str(wheels): "/wheels"}, {"CI_PIPELINE_IID": "1"}
    hosts = {"docker": bridge_address(engine)}
    folder = tmp_path_factory.mktemp("g")
    with (
        relayed(engine, port=2375),
        running(engine, image, "gitlab", folder, mounts, numbers, extra_hosts=hosts) as found,
    ):
        yield found


def run_github(runner: Runner, job: str) -> Path:
    """The commands of a job, without those of a failure. Returns its project."""
    home = runner.project(job)
    steps = yaml.safe_load((home / ".github/workflows/kafkacheck.yml").read_text())["jobs"][job]["steps"]
    for step in steps:
        if "run" in step and step.get("if") != "failure()":
            runner.run(step["run"], home)
    return home


def run_gitlab(runner: Runner, job: str) -> Path:
    home = runner.project(job)
    jobs: dict[str, Any] = yaml.safe_load((home / ".gitlab-ci.yml").read_text())
    base = jobs[jobs[job]["extends"]]
    for step in (*base["before_script"], *jobs[job]["script"]):
        if not step.startswith("apt-get"):
            runner.run(step, home, **base["variables"])
    return home


def passed(report: Path) -> int:
    """The tests of JUnit's XML, none of which has failed."""
    (suite,) = ElementTree.parse(report).getroot()
    assert suite.get("failures") == "0"
    return int(suite.get("tests", "0"))


def test_github_on_every_change(github: Runner) -> None:
    home = run_github(github, "test")
    assert (home / "kafka-images.tar").stat().st_size > 100_000_000
    assert (home / "step.md").read_text().startswith("## kafkacheck: 2 passed")
    assert passed(home / "kafkacheck.xml") == 2
    assert not [each for each in (home / ".kafkacheck").iterdir() if each.is_dir()], "runs of passed tests"


def test_github_each_night(github: Runner) -> None:
    home = run_github(github, "soak")
    assert "kafkacheck soak: safe, seed 1" in (home / "step.md").read_text()
    assert passed(home / "soak.xml") == 1
    assert len(json.loads((home / ".kafkacheck/soak-safe-1/soak.json").read_text())["rounds"]) == 1


def test_gitlab_on_every_change(gitlab: Runner) -> None:
    home = run_gitlab(gitlab, "kafkacheck")
    assert (home / "kafkacheck.md").read_text().startswith("## kafkacheck: 2 passed")
    assert passed(home / "kafkacheck.xml") == 2


def test_gitlab_each_night(gitlab: Runner) -> None:
    home = run_gitlab(gitlab, "kafkacheck-soak")
    assert "kafkacheck soak: safe, seed 1" in (home / "soak.md").read_text()
    assert passed(home / "soak.xml") == 1
