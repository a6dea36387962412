"""The steps of the files that ``kafkacheck init --ci`` writes, run in a bare folder with a new environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from pytest_kafkacheck.cli import main as cli

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(3600)]

SHORT = {"--hours 4": "--rounds 1", "--shrink 20": "--shrink 1", "kafkacheck/*": "kafkacheck/base"}
"""What a step says, and what the test runs in its place."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `init` writes, and an environment that has the package's wheel and nothing of this one."""
    home = tmp_path_factory.mktemp("project")
    for service in ("github", "gitlab"):
        (home / service).mkdir()
        assert cli.main(["init", str(home / service), "--ci", service]) == cli.AS_EXPECTED
    dist = home / "dist"
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(dist), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = dist.glob("*.whl")
    venv.create(home / "venv", with_pip=True)
    install = [home / "venv/bin/python", "-m", "pip", "install", "-q", "--no-compile"]
    subprocess.run([*install, "-c", ROOT / "constraints.txt", wheel], check=True)
    return home


def run(project: Path, service: str, step: str) -> None:
    """A step, as the service's shell runs it. What `setup` installs on a new machine is here already."""
    for said, short in SHORT.items():
        step = step.replace(said, short)
    clean = {name: os.environ[name] for name in ("HOME", "LANG", "DOCKER_HOST") if name in os.environ}
    environment = {
        **clean,
        "PATH": f"{project / 'venv/bin'}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(project / service / "step.md"),
        "GITHUB_RUN_NUMBER": "1",
        "CI_PIPELINE_IID": "1",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", step], cwd=project / service, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"


def github(project: Path, job: str) -> list[str]:
    """The commands of a job, without those that need the service or install the package."""
    steps = yaml.safe_load((project / "github/.github/workflows/kafkacheck.yml").read_text())["jobs"][job][
        "steps"
    ]
    commands = [each["run"] for each in steps if "run" in each and each.get("if") != "failure()"]
    return [each for each in commands if not each.startswith("pip install")]


def gitlab(project: Path, job: str) -> list[str]:
    jobs: dict[str, Any] = yaml.safe_load((project / "gitlab/.gitlab-ci.yml").read_text())
    commands = [*jobs[jobs[job]["extends"]]["before_script"], *jobs[job]["script"]]
    return [each for each in commands if not each.startswith(("pip install", "apt-get"))]


def test_on_every_change(project: Path) -> None:
    for step in github(project, "test"):
        run(project, "github", step)
    home = project / "github"
    assert (home / "kafka-images.tar").stat().st_size > 100_000_000
    assert (home / "step.md").read_text().startswith("## kafkacheck: 2 passed")
    (suite,) = ElementTree.parse(home / "kafkacheck.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert not [each for each in (home / ".kafkacheck").iterdir() if each.is_dir()], "runs of passed tests"


def test_each_night(project: Path) -> None:
    for step in github(project, "soak"):
        run(project, "github", step)
    home = project / "github"
    assert "kafkacheck soak: safe, seed 1" in (home / "step.md").read_text()
    assert ElementTree.parse(home / "soak.xml").getroot()[0].get("tests") == "1"
    state = json.loads((home / ".kafkacheck/soak-safe-1/soak.json").read_text())
    assert len(state["rounds"]) == 1


def test_gitlab(project: Path) -> None:
    for step in gitlab(project, "kafkacheck"):
        run(project, "gitlab", step)
    assert (project / "gitlab/kafkacheck.md").read_text().startswith("## kafkacheck: 2 passed")
