"""Each change since the last release is a file that gets into the changelog."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = ROOT / "changes"


def files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name != "README.md")


def shown(folder: Path) -> str:
    """The section that would be written."""
    arguments = ["build", "--draft", "--version", "next", "--dir", str(folder.parent)]
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def left_out(folder: Path) -> list[str]:
    section = " ".join(shown(folder).split())
    return [file.name for file in files(folder) if " ".join(file.read_text().split()) not in section]


def test_every_change_is_shown() -> None:
    assert left_out(CHANGES) == []


@pytest.mark.parametrize("name", ["+one.fixed.md", "+one.fxed.md", "one.md"])
def test_a_file_whose_name_says_no_kind_is_left_out(tmp_path: Path, name: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("")
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / name).write_text("Ctrl-C ends a session\nwithin five seconds.\n")
    assert left_out(tmp_path / "changes") == ([] if name == "+one.fixed.md" else [name])


def test_the_newest_section_is_that_of_the_version_in_pyproject() -> None:
    version = next(
        line.split('"')[1]
        for line in (ROOT / "pyproject.toml").read_text().splitlines()
        if line.startswith("version = ")
    )
    sections = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert sections[0].startswith(f"## {version} (")
