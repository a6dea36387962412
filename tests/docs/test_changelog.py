"""Each change since the last release is a file that gets into the changelog; each release has a page to read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = ROOT / "changes"
MOST_WORDS = 1000
"""Of the page of a release: what a person reads in five minutes."""


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
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / name).write_text("Ctrl-C ends a session\nwithin five seconds.\n")
    assert left_out(tmp_path / "changes") == ([] if name == "+one.fixed.md" else [name])


def test_the_newest_release_is_the_version_in_pyproject_or_is_not_out_yet() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    newest, *older = pages()
    if newest.endswith(" (unreleased)"):
        newest = older[0]
    assert newest.startswith(f"{project['version']} (")


def test_a_release_is_a_page_that_takes_five_minutes() -> None:
    assert {title: count for title, count in pages().items() if count > MOST_WORDS} == {}


def test_a_release_has_a_file_with_each_of_its_changes() -> None:
    released = [title.split()[0] for title in pages() if not title.endswith(" (unreleased)")]
    assert sorted(f"{version}.md" for version in released) == sorted(
        file.name for file in (ROOT / "changelog").iterdir()
    )


def pages() -> dict[str, int]:
    """Title of each release in CHANGELOG.md, to the number of its words."""
    _, *sections = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")
    return {each.partition("\n")[0]: len(each.split()) for each in sections}
