"""The quick start of Spark's JVM: an archive of its classes and its command line, prepared once and kept for the
user.

Most of a short start goes into finding, reading and verifying some ten thousand classes, and into a second JVM in
which Spark's launcher works out a command line. Both are prepared by `make_quick_start` (called by ``kafkacheck
setup``), in a folder for each combination of Java and Spark. docs/spark_start.md has the design and the figures.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark
from pyspark import SparkConf
from pyspark.sql import SparkSession

from analyzers.spark.jvm.gateway import end_jvm, open_session
from analyzers.spark.jvm.launch import launch_jvm
from analyzers.spark.jvm.launcher_command import launcher_command
from analyzers.spark.settings import core_settings, java_options, sql_settings

SWITCH = "KAFKACHECK_SPARK_QUICK_START"
"""Environment variable: with ``off`` (or ``0``) Spark starts with its own launcher and without an archive."""

ARCHIVE, START = "classes.jsa", "start.json"
CONFIGURES = {
    "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS",
    "HADOOP_CONF_DIR", "YARN_CONF_DIR",
}  # fmt: skip
"""Environment variables that may change the launcher's command."""

REVISION = 3
"""Raise it when the analysis begins to use other classes of Spark, so that users get a new archive."""

WRITE_LIMIT = 300
"""Seconds for a JVM to write its classes into an archive while it ends."""


@dataclass(frozen=True, kw_only=True)
class QuickStart:
    archive: Path
    """Of loaded classes (AppCDS)."""
    command: tuple[str, ...]
    """See `analyzers.spark.jvm.launcher_command`."""


def find_quick_start(java: Path) -> QuickStart | None:
    """What was prepared for that java and this Spark; None if nothing was, or if it cannot be read.

    Also None if Spark was installed again since, because the JVM ignores an archive of other files and starts slowly;
    if `SWITCH` is off; and if the environment configures Spark: the launcher may then give another command.
    """
    if is_unavailable():
        return None
    try:
        folder = _folder(java)
        start = json.loads((folder / START).read_text())
        command, jars = tuple(start["command"]), start["jars"]
    # RuntimeError: a user without a home directory.
    except (OSError, ValueError, TypeError, KeyError, RuntimeError):
        return None
    archive = folder / ARCHIVE
    if not archive.is_file() or not all(isinstance(part, str) for part in command) or jars != _jars():
        return None
    return QuickStart(archive=archive, command=command)


def make_quick_start(java: Path, *, program: str) -> QuickStart | None:
    """Find the quick start or make it, which takes up to a minute.

    program  a module that calls `record_classes` with the arguments that it gets. It runs in a process of its own,
             because this process may have a JVM already, and a process has only one.
    None while another process is making it, and where `find_quick_start` would not use it.
    May be killed at any moment: an unfinished archive has a name that nothing reads. What it has started then keeps
    the lock until it has ended.
    Raises RuntimeError if Spark does not start, OSError if the folder cannot be written.
    """
    found = find_quick_start(java)
    if found is not None or is_unavailable():
        return found
    folder = _folder(java)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        for left in folder.glob("*.unfinished"):
            with suppress(OSError):
                left.unlink()
        command, jars = launcher_command(java), _jars()
        unfinished = folder / f"{secrets.token_hex(4)}.unfinished"
        call = [sys.executable, "-m", program, str(java), json.dumps(command), str(unfinished)]
        # It keeps the lock if this process is killed, until it has ended, too.
        done = subprocess.run(call, capture_output=True, text=True, pass_fds=(lock.fileno(),))
        if done.returncode or not unfinished.is_file():
            errors = done.stderr.strip()[-2000:] or f"{program} wrote no archive"
            raise RuntimeError(f"the classes of Spark could not be recorded with {java}: {errors}")
        unfinished.replace(folder / ARCHIVE)
        unfinished.write_text(json.dumps({"command": command, "jars": jars}) + "\n")
        unfinished.replace(folder / START)
    return find_quick_start(java)


def record_classes(arguments: Sequence[str], use: Callable[[SparkSession], None]) -> None:
    """Start a JVM, use Spark in it, and let the JVM write the classes that it loaded into an archive as it ends.

    arguments  java, the command as JSON, and the path of the archive: as `make_quick_start` passes them.
    """
    java, command, archive = arguments
    with tempfile.TemporaryDirectory(prefix="kafkacheck-archive-") as folder:
        scratch = Path(folder)
        flags = [*java_options("small", scratch=scratch, archive=None), f"-XX:ArchiveClassesAtExit={archive}"]
        settings = core_settings("local[*]", scratch=scratch, heap="1g") | sql_settings(None)
        settings["spark.driver.extraJavaOptions"] = " ".join(flags)
        conf = SparkConf(loadDefaults=False).setMaster("local[*]").setAppName("kafkacheck-archive")
        conf.setAll(list(settings.items()))
        jvm = launch_jvm(conf, scratch=scratch, java=Path(java), command=tuple(json.loads(command)))
        try:
            use(open_session(jvm, conf))
        finally:
            end_jvm(jvm, seconds=WRITE_LIMIT)


def is_unavailable() -> bool:
    """Whether the quick start is switched off, or the environment configures Spark."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0"):
        return True
    return bool(CONFIGURES & os.environ.keys()) or (Path(pyspark.__file__).parent / "conf").exists()


def _folder(java: Path) -> Path:
    """This user's folder for that Java and this Spark."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = java.resolve().parent.parent
    # Every Java describes its build in this file. Without it, the program's time of change identifies the build.
    release = home / "release"
    build = release.read_text() if release.is_file() else str(java.stat().st_mtime_ns)
    parts = [REVISION, str(home), build, pyspark.__version__, pyspark.__file__]
    return cache / "kafkacheck" / "spark" / hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _jars() -> str:
    """Digest of what the JVM compares of Spark's jars before it uses an archive: names, sizes and times of change."""
    files = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    parts = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
