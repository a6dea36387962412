"""The quick start of Spark's JVM: an archive of the classes it loads, made once and kept for the user.

Of a short start most goes into finding, reading and checking some ten thousand classes, and into a JVM of its
own in which Spark's launcher works out a command line. A folder per Java, Spark and flags keeps both.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from analyzers.spark.settings import COMPILER

ARCHIVE, COMMAND = "classes.jsa", "command.json"
CONFIGURES = {
    "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS",
    "HADOOP_CONF_DIR", "YARN_CONF_DIR",
}  # fmt: skip
REVISION = 2
"""To be raised when the analysis comes to use classes that it did not use before."""


@dataclass(frozen=True, kw_only=True)
class QuickStart:
    """archive: of classes; command: see `analyzers.spark.jvm.start_jvm`."""

    archive: Path
    command: tuple[str, ...]


def find_quick_start(java: Path) -> QuickStart | None:
    """What was prepared for that java and this Spark, None when nothing was or when it cannot be read.

    None also where the environment configures Spark, for the launcher's answer may then differ.
    """
    if _configured():
        return None
    try:
        folder = _folder(java)
        command = tuple(json.loads((folder / COMMAND).read_text()))
    except (OSError, ValueError, TypeError, RuntimeError):  # the last for a user without a home
        return None
    archive = folder / ARCHIVE
    if not archive.is_file() or not all(isinstance(part, str) for part in command):
        return None
    return QuickStart(archive=archive, command=command)


def make_quick_start(java: Path, *, program: str) -> QuickStart | None:
    """Find it, or make it: that takes half a minute. None while another process is making it,
    and where the environment configures Spark.

    program  module that starts Spark, uses it and writes the archive (see `analyzers.judge.warm_up`). Its arguments
             are the java, the JVM's command as JSON, and the path of the archive.

    May be killed at any moment: an unfinished archive has a name that nothing reads.
    Raises RuntimeError when Spark does not start, OSError when the folder cannot be written.
    """
    # Loaded here: whoever only looks for an archive needs none of it.
    from analyzers.spark.jvm import java_command

    found = find_quick_start(java)
    if found is not None or _configured():
        return found
    folder = _folder(java)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        for rest in folder.glob("*.unfinished"):
            with suppress(OSError):
                rest.unlink()
        command = java_command(java)
        unfinished = folder / f"{secrets.token_hex(4)}.unfinished"
        # In a process of its own, for this one may have a JVM already and needs it.
        call = [
            sys.executable,
            "-m",
            program,
            str(java),
            json.dumps(command),
            str(unfinished),
        ]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode or not unfinished.is_file():
            raise RuntimeError(
                f"Spark could not be rehearsed with {java}: {done.stderr.strip()[-2000:] or 'no archive'}"
            )
        unfinished.replace(folder / ARCHIVE)
        unfinished.write_text(json.dumps(command) + "\n")
        unfinished.replace(folder / COMMAND)
    return find_quick_start(java)


def _configured() -> bool:
    return bool(CONFIGURES & os.environ.keys()) or (Path(pyspark.__file__).parent / "conf").exists()


def _folder(java: Path) -> Path:
    """One for each Java, Spark and set of flags, of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = java.resolve().parent.parent
    # The file that every Java has of its build; without it, the program itself stands for it.
    release = home / "release"
    build = release.read_text() if release.is_file() else str(java.stat().st_mtime_ns)
    parts = [REVISION, str(home), build, pyspark.__version__, pyspark.__file__, COMPILER["small"]]
    return cache / "kafkacheck" / "spark" / hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
