"""The public names as a user's type checker sees them, who has the package installed: mypy --strict."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "cases"
CASES = (FOLDER / "accepted.py", FOLDER / "refused.py")
REPORTED = re.compile(r"^refused\.py:(?P<line>\d+): error: .*\[(?P<code>[a-z-]+)\]$", re.MULTILINE)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of the cases, in a folder of their own, so that the settings of this project do not apply.

    They use a Python in which this checkout is installed: mypy does not check installed packages themselves.
    """
    folder = tmp_path_factory.mktemp("user")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    (site,) = folder.glob("venv/lib/python*/site-packages")
    installed = [each for each in sys.path if each.endswith("site-packages")]
    (site / "installed.pth").write_text("\n".join([str(ROOT), *installed, ""]))
    for case in CASES:
        shutil.copy(case, folder)
    options = ["--strict", "--no-error-summary", "--python-executable", "venv/bin/python"]
    command = [sys.executable, "-m", "mypy", *options, *(case.name for case in CASES)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert not done.stderr
    return done.stdout


def test_right_code_is_accepted(report: str) -> None:
    assert not [line for line in report.splitlines() if not line.startswith("refused.py:")]


def test_each_mistake_is_reported(report: str) -> None:
    lines = (FOLDER / "refused.py").read_text().splitlines()
    expected = {number: line.split("  # ")[1] for number, line in enumerate(lines, 1) if "  # " in line}
    found: dict[int, set[str]] = {}
    for match in REPORTED.finditer(report):
        found.setdefault(int(match["line"]), set()).add(match["code"])
    assert {line: ", ".join(sorted(codes)) for line, codes in found.items()} == expected, report
