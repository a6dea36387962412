"""Finds the Java runtime of this machine, on which Spark and Java clients run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

MINIMUM = 17
"""Feature release."""


def candidates() -> list[Path]:
    """The ``java`` programs that there may be: that of JAVA_HOME, then that on PATH. Runs nothing."""
    named = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    found = [Path(named) / "bin" / "java"] if named else []
    return found + ([Path(on_path).resolve()] if on_path else [])


def find_java(*, minimum: int = MINIMUM) -> Path | None:
    """The first of `candidates` that is new enough."""
    return next((java for java in candidates() if (release(java) or 0) >= minimum), None)


def release(java: Path) -> int | None:
    """Feature release of a java program, such as 17; None when the file is not a java program."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def build_of(java: Path) -> str:
    """Identifies the home and the build of a java program, for archives that only this build can use."""
    home = java.resolve().parent.parent
    # Every Java describes its build in this file. Without it, the program's time of change identifies the build.
    described = home / "release"
    return f"{home} {described.read_text() if described.is_file() else java.stat().st_mtime_ns}"
