"""The site builds without a warning: each page is in the menu, and each link has its page and heading."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT


def build(docs: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", docs, out]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)


def test_the_site_builds(tmp_path: Path) -> None:
    done = build(ROOT / "docs", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert "Find the lost write" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("[broken](missing.md)", "missing.md"),
        ("[broken](limits.md#missing)", "missing"),
        ("", "document isn't included in any toctree"),
    ],
)
def test_the_build_fails_for_a_broken_link_and_a_page_outside_the_menu(
    tmp_path: Path, text: str, warning: str
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(ROOT / "docs" / "conf.py", docs)
    shutil.copytree(ROOT / "docs" / "static", docs / "static")
    menu = "[limits](limits.md)" if text else ""
    (docs / "index.md").write_text(f"# Index\n\n## Part\n\n{menu}\n\n{text}\n")
    (docs / "limits.md").write_text("# Limits\n")
    done = build(docs, tmp_path / "site")
    assert done.returncode != 0
    assert warning in done.stderr
