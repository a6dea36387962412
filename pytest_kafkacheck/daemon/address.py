"""Where the daemon of this user and of this installation listens, and whether one is wanted."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.guard import SIBLINGS
from workloads.user_cache import user_cache

SWITCH = "KAFKACHECK_DAEMON"
"""``yes`` or ``no``; default: no in continuous integration, whose jobs leave no process behind, and yes elsewhere."""

OF_THE_JVM = ("SPARK_", "PYSPARK_", "HADOOP_", "JAVA_", "JDK_", "KAFKACHECK_")
"""Environment variables with these prefixes may decide how Spark starts."""


OUR_PACKAGES = tuple(Path(__file__).resolve().parents[2] / name for name in ("pytest_kafkacheck", *SIBLINGS))


def is_wanted() -> bool:
    """Raises UsageError for another value of the switch."""
    value = os.environ.get(SWITCH, "no" if os.environ.get("CI") else "yes")
    if value not in ("yes", "no"):
        raise UsageError(f"{SWITCH}={value}: expected yes or no")
    return value == "yes"


def socket_path() -> Path:
    """The name changes with Python, our sources, PySpark and what decides on the JVM: a daemon of another state is
    never asked, and ends when it was idle for long enough."""
    changed = max(file.stat().st_mtime_ns for package in OUR_PACKAGES for file in package.rglob("*.py"))
    variables = sorted(pair for pair in os.environ.items() if pair[0].startswith(OF_THE_JVM))
    state = repr((sys.executable, str(OUR_PACKAGES[0]), changed, version("pyspark"), variables))
    return folder() / f"{hashlib.sha256(state.encode()).hexdigest()[:16]}.socket"


@contextmanager
def short(path: Path) -> Iterator[str]:
    """A name of the socket for `bind` and `connect`, which refuse more than 107 characters."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def folder() -> Path:
    """Only this user can enter it. It need not exist."""
    return user_cache() / "daemon"


def make_folder() -> None:
    """Raises UsageError if others could put a socket into it."""
    folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder().stat()
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise UsageError(
            f"{folder()} belongs to user {found.st_uid} and has mode {stat.S_IMODE(found.st_mode):o}; "
            f"expected a folder that only you can enter. Remove it, or set {SWITCH}=no"
        )
