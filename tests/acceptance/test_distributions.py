"""The source distribution is complete, and the wheel that is built of it works in a new environment."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from configparser import ConfigParser
from email import message_from_string
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pytest_kafkacheck.claims.claim import all_scenarios

ROOT = Path(__file__).resolve().parents[2]
JAR = "workloads/clients/java/client.jar"
"""Git does not have it: `make java-client` builds it."""
BROUGHT = {"py4j"}
"""By PySpark, in the version that it needs."""
OURS = {"pytest_kafkacheck", "nemesis", "workloads", "analyzers"}

SCENARIOS = ("-m", "pytest", "--pyargs", "pytest_kafkacheck.claims", "-k", "B8")
"""What docs/scenarios.md says."""

OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""Without the folders of this project."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both. The wheel is built of the source distribution, as by those who package from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sources(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sources")
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (found,) = folder.iterdir()
    return found


def test_the_source_distribution_holds_what_the_repository_holds(sources: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no repository, but a source distribution itself")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    files = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    held = {str(file.relative_to(sources)) for file in sources.rglob("*") if file.is_file()}
    assert held == files | {"PKG-INFO"} | ({JAR} if (ROOT / JAR).is_file() else set())


def test_tests_of_the_source_distribution_run_from_it(sources: Path) -> None:
    chosen = [
        "tests/docs/test_links.py",
        "tests/nemesis/test_schedule.py",
        "tests/pytest_kafkacheck/test_spec.py",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    path = {**os.environ, "PYTHONPATH": str(sources)}
    done = subprocess.run(command, cwd=sources, env=path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


def test_wheel_holds_our_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == OURS
    for needed in (
        "_compose/image/pom.xml",
        "_compose/image/log4j2.yaml",
        "_compose/image/log4j.properties",
        "cluster/spec/releases.json",
        "report/templates/report.html.j2",
        "report/templates/report.js",
        "serve/templates/listing.html.j2",
        "py.typed",
    ):
        assert f"pytest_kafkacheck/{needed}" in names
    of_java = [
        name for name in names if name.startswith("workloads/clients/java/") and not name.endswith(".py")
    ]
    assert of_java == ([JAR] if (ROOT / JAR).is_file() else [])


@pytest.mark.nightly
def test_the_java_client_in_the_wheel_is_that_of_its_sources(wheel: Path, tmp_path: Path) -> None:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("Maven and a JDK build it: make java-client")
    project = tmp_path / "java"
    shutil.copytree((ROOT / JAR).parent, project, ignore=shutil.ignore_patterns("target", "*.jar", "*.py"))
    subprocess.run(["mvn", "-q", "-B", "package"], cwd=project, check=True, timeout=300)
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read(JAR) == (project / "target" / "client.jar").read_bytes()


def test_the_command_runs_also_by_the_name_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith("entry_points.txt"))
        found = ConfigParser()
        found.read_string(opened.read(name).decode())
    assert found["pipx.run"]["pytest-kafkacheck"] == found["console_scripts"]["kafkacheck"]


def test_the_wheel_declares_what_it_imports(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        texts = [name for name in opened.namelist() if name.endswith((".py", "METADATA"))]
        files = {name: opened.read(name).decode() for name in texts}
    (about,) = (text for name, text in files.items() if name.endswith(".dist-info/METADATA"))
    declared = {
        canonicalize_name(Requirement(each).name)
        for each in message_from_string(about).get_all("Requires-Dist", [])
    }
    imported = {
        name.partition(".")[0]
        for path, text in files.items()
        if path.endswith(".py")
        for node in ast.walk(ast.parse(text))
        for name in _modules(node)
    }
    homes = packages_distributions()
    missing = {
        module: homes.get(module)
        for module in imported - OURS - BROUGHT - sys.stdlib_module_names
        if not declared & {canonicalize_name(home) for home in homes.get(module, [])}
    }
    assert missing == {}


def _modules(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [each.name for each in names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
    return []


@pytest.fixture(scope="module", params=[pytest.param("new", marks=pytest.mark.nightly), "present"])
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The Python of another environment, in which the wheel is installed. Installing Spark takes most of a minute, so
    by day it finds the dependencies of this environment."""
    home = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(home)
    found = home / "bin" / "python"
    # Python compiles what it imports; all of Spark's modules would take longer.
    command = [sys.executable, "-m", "pip", "--python", found, "install", "-q", "--no-compile"]
    if request.param == "new":
        command += ["-c", ROOT / "constraints.txt"]
    else:
        command += ["--no-deps"]
        (there,) = home.glob("lib/python*/site-packages")
        (there / "present.pth").write_text(sysconfig.get_path("purelib"))
    subprocess.run([*command, wheel], check=True)
    where = [found, "-c", "import pytest_kafkacheck; print(pytest_kafkacheck.__file__)"]
    shown = subprocess.run(where, check=True, capture_output=True, text=True, cwd=home, env=OUTSIDE)
    assert str(home) in shown.stdout
    return found


@pytest.mark.cluster
def test_wheel_works_in_another_environment(
    python: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    running = session(python=str(python))
    assert running.wait(limit=600) == 0, running.output
    assert "1 passed" in running.output


@pytest.mark.cluster
def test_scenarios_of_the_wheel_are_tests_in_any_folder(python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [python, *SCENARIOS, "--collect-only", "-q"],
        cwd=tmp_path,
        env=OUTSIDE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    collected = [line for line in done.stdout.splitlines() if "::" in line]
    names = [line.partition("[")[2].rstrip("]") for line in collected]
    assert names == [each.name for each in all_scenarios() if "B8-" in each.name]


@pytest.mark.cluster
@pytest.mark.nightly
def test_a_scenario_of_the_wheel_is_shown_in_any_folder(python: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = subprocess.run(
        [python, *SCENARIOS, "-p", "no:cacheprovider", f"--junitxml={report}"],
        cwd=tmp_path, env=OUTSIDE, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [case.get("name") for case in ElementTree.parse(report).getroot().iter("testcase")]
    assert len(shown) == len([each for each in all_scenarios() if "B8-" in each.name])
