"""The built wheel, in a new environment, in an empty folder with one test file."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_our_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "pytest_kafkacheck",
        "nemesis",
        "workloads",
        "analyzers",
    }
    for needed in (
        "_compose/image/pom.xml",
        "_compose/image/log4j2.yaml",
        "_compose/image/log4j.properties",
        "cluster/spec/settings.json",
        "report/templates/report.html.j2",
        "report/templates/report.js",
        "py.typed",
    ):
        assert f"pytest_kafkacheck/{needed}" in names


@pytest.mark.cluster
def test_wheel_works_in_a_new_environment(wheel: Path, tmp_path: Path, session: Any) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    # Python compiles what it imports; all of Spark's modules would take longer.
    command = [python, "-m", "pip", "install", "-q", "--no-compile", "-c", constraints, wheel]
    subprocess.run(command, check=True)
    running = session(python=str(python))
    assert running.wait(limit=600) == 0, running.output
    assert "1 passed" in running.output
