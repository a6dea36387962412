"""The newest releases of the libraries with an upper bound, in an environment of their own: the same verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(3600)]

ROOT = Path(__file__).resolve().parents[2]
JUDGE = ROOT / "tests" / "support" / "broken_shortcuts.py"
RUN = ROOT / "tests" / "data" / "runs" / "acks_one"

IMPORT = """
from importlib import import_module
from pkgutil import iter_modules
import kafka, pyspark
from workloads.clients import kafka_python
for each in iter_modules(kafka_python.__path__):
    import_module(f"{kafka_python.__name__}.{each.name}")
print(kafka.__version__, pyspark.__version__, pyspark.__file__)
"""


def run(python: str | Path, *arguments: str | Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([python, *arguments], env=env, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def judged(python: str | Path) -> dict[str, Any]:
    """The verdict, and the shortcuts that the release made impossible."""
    answer: dict[str, Any] = json.loads(run(python, JUDGE, "none", RUN).splitlines()[-1])
    return answer


@pytest.fixture
def newest(tmp_path: Path) -> Path:
    """The Python of an environment with the newest releases, and with all others of this one."""
    home = tmp_path / "venv"
    venv.create(home)
    python = home / "bin" / "python"
    install = ["-m", "pip", "--python", python, "install", "-q", "--no-compile", "--upgrade"]
    run(sys.executable, *install, "pyspark", "kafka-python[crc32c]")
    (there,) = home.glob("lib/python*/site-packages")
    (there / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python


def test_the_verdict_is_the_same(newest: Path) -> None:
    versions = run(newest, "-c", IMPORT)
    assert str(newest.parents[1]) in versions
    found = judged(newest)
    assert found["verdict"] == judged(sys.executable)["verdict"], versions
    assert found["warnings"] == [], f"shortcuts are off with {versions}"
