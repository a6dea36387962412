"""Finds or installs the Java runtime for Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian

MINIMUM = 17


def find_java(*, minimum: int = MINIMUM) -> Path | None:
    """The first ``java`` program that is new enough: that of JAVA_HOME, then that on PATH."""
    named = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    for java in (
        Path(named) / "bin" / "java" if named else None,
        Path(on_path).resolve() if on_path else None,
    ):
        if java is not None and (release(java) or 0) >= minimum:
            return java
    return None


def release(java: Path) -> int | None:
    """Feature release of a java program, such as 17; None when the file is not a java program."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def ensure_java(say: Say) -> Path:
    """Find a runtime, or install Debian's when running as root. Raises InfrastructureError."""
    found = find_java()
    if found is None:
        why = f"Spark needs a Java runtime, {MINIMUM} or later, and neither JAVA_HOME nor PATH has one"
        debian.install(["default-jre-headless"], why=why, say=say)
        found = find_java()
    if found is None:
        raise InfrastructureError(
            f"The installed Java runtime is older than {MINIMUM} or JAVA_HOME={os.environ.get('JAVA_HOME')!r} "
            f"hides it. Point JAVA_HOME to a newer one."
        )
    say(f"Java {release(found)}: present")
    return found


def ensure_quick_start(java: Path, say: Say) -> None:
    """Make the archive that halves the start of Spark, once for this user, Java and Spark: up to a minute.

    Without it Spark only starts more slowly, so nothing that goes wrong here is an error.
    """
    from analyzers.spark.internals.quick_start import find_quick_start, is_unavailable, make_quick_start

    if is_unavailable():
        say("Spark's quick start: not used, since the environment configures Spark or switches it off")
        return
    if find_quick_start(java) is not None:
        say("Spark's quick start: present")
        return
    say("Spark's quick start: making an archive of classes, up to a minute, once")
    try:
        made = make_quick_start(java, program="analyzers.judge.warm_up")
    except Exception as error:  # another release of Spark may have another launcher
        say(f"Spark's quick start: not made, Spark will start more slowly: {error}")
        return
    if made is None:
        say("Spark's quick start: not made, another process is making it")
