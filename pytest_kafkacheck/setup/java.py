"""Finds or installs the Java runtime for Spark."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian
from workloads.java_runtime import MINIMUM, find_java, release


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
