"""The workflows of the repository's own continuous integration, and those that ``kafkacheck init`` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_kafkacheck.cli.common.init_files import CI

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"

SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}


def wrong(schema: str, *files: Path) -> str:
    """What does not follow the schema of a service; empty if nothing."""
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(check, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_our_workflows_follow_the_schema_of_github(tmp_path: Path) -> None:
    files = sorted(WORKFLOWS.glob("*.yml"))
    assert [each.stem for each in files] == ["nightly", "release", "test"]
    assert not wrong(SCHEMAS["github"], *files)
    broken = tmp_path / "broken.yml"
    broken.write_text(files[0].read_text().replace("runs-on:", "runs_on:"))
    assert "runs_on" in wrong(SCHEMAS["github"], broken)


@pytest.mark.parametrize("service", CI)
def test_the_files_of_init_follow_the_schema_of_their_service(service: str, tmp_path: Path) -> None:
    file = tmp_path / "ci.yml"
    file.write_text(CI[service][1])
    assert not wrong(SCHEMAS[service], file)


def test_the_parts_of_a_night_are_all_tests() -> None:
    nightly = yaml.safe_load((WORKFLOWS / "nightly.yml").read_text())
    parts = [each["tests"].split() for each in nightly["jobs"]["tests"]["strategy"]["matrix"]["include"]]
    listed = [folder for part in parts for folder in part]
    there = {f"tests/{file.relative_to(ROOT / 'tests').parts[0]}" for file in ROOT.glob("tests/**/test_*.py")}
    assert sorted(listed) == sorted({*there, "examples"})
