"""The quick start of Spark's JVM: an archive of its classes and its command line, prepared once and kept for the
user.

Most of a short start goes into finding, reading and verifying some ten thousand classes, and into a second JVM in
which Spark's launcher works out a command line. Both are prepared by `make_quick_start` (called by ``kafkacheck
setup``), in a folder for each combination of Java and Spark. docs/spark.md says what it saves.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark
from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.sql import SparkSession

from analyzers.spark.internals import jvm
from analyzers.spark.internals.shortcut import Shortcut, is_plain
from analyzers.spark.settings import core_settings, java_options, sql_settings
from workloads.java_runtime import build_of
from workloads.user_cache import user_cache

QUICK_START = Shortcut("quick start")

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

SUBMIT = "org.apache.spark.deploy.SparkSubmit"
"""The class that every Spark application starts with."""

LAUNCHER_LIMIT = 60
"""Seconds for the launcher to answer."""

START_LIMIT = 120.0
"""Seconds for the JVM to open its connection."""

WRITE_LIMIT = 300
"""Seconds for a JVM to write its classes into an archive while it ends."""


@dataclass(frozen=True, kw_only=True)
class QuickStart:
    archive: Path
    """Of loaded classes (AppCDS)."""
    command: tuple[str, ...]
    """See `launcher_command`."""


def find_quick_start(java: Path) -> QuickStart | None:
    """What was prepared for that java and this Spark; None if nothing was, or if it cannot be read.

    Also None if Spark was installed again since, because the JVM ignores an archive of other files and starts slowly;
    if `SWITCH` is off; and if the environment configures Spark: the launcher may then give another command.
    """
    if is_unavailable():
        return None
    try:
        folder = folder_of(java)
        start = json.loads((folder / START).read_text())
        command, jars = tuple(start["command"]), start["jars"]
    # RuntimeError: a user without a home directory.
    except (OSError, ValueError, TypeError, KeyError, RuntimeError):
        return None
    archive = folder / ARCHIVE
    if (
        not archive.is_file()
        or not all(isinstance(part, str) for part in command)
        or jars != digest_of_jars()
    ):
        return None
    return QuickStart(archive=archive, command=command)


def make_quick_start(java: Path, *, program: str) -> QuickStart | None:
    """Find the quick start or make it, which takes up to a minute.

    program  a module that calls `record_classes` with the arguments that it gets. It runs in a process of its own,
             because this process may have a JVM already, and a process has only one.
    None while another process is making it, and where `find_quick_start` would not use it.
    May be killed at any moment: an unfinished archive has a name that nothing reads. What it has started then keeps
    the lock until it has ended.
    Raises RuntimeError if Spark does not start, OSError if the folder cannot be written, and other errors with a
    release of Spark that has another launcher.
    """
    found = find_quick_start(java)
    if found is not None or is_unavailable():
        return found
    folder = folder_of(java)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        for left in folder.glob("*.unfinished"):
            with suppress(OSError):
                left.unlink()
        command, jars = launcher_command(java), digest_of_jars()
        unfinished = folder / f"{secrets.token_hex(4)}.unfinished"
        call = [sys.executable, "-m", program, json.dumps(command), str(unfinished)]
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

    arguments  the command as JSON and the path of the archive: as `make_quick_start` passes them.
    """
    command, archive = arguments
    with tempfile.TemporaryDirectory(prefix="kafkacheck-archive-") as folder:
        scratch = Path(folder)
        flags = [*java_options("small", scratch=scratch, archive=None), f"-XX:ArchiveClassesAtExit={archive}"]
        settings = core_settings("local[*]", scratch=scratch, heap="1g") | sql_settings(None)
        settings["spark.driver.extraJavaOptions"] = " ".join(flags)
        conf = SparkConf(loadDefaults=False).setMaster("local[*]").setAppName("kafkacheck-archive")
        conf.setAll(list(settings.items()))
        started = launch_directly(conf, scratch=scratch, command=tuple(json.loads(command)))
        try:
            use(jvm.open_session(started, conf))
        finally:
            jvm.end_jvm(started, seconds=WRITE_LIMIT)


def launch(
    conf: Callable[[Path | None], SparkConf], *, scratch: Path, java: Path | None, is_quick: bool
) -> JavaGateway:
    """Start a JVM by what was prepared for it, or by Spark's launcher, and connect to it.

    conf      makes the settings for an archive, or for none.
    is_quick  whether what was prepared may be used.
    """

    def slowly() -> JavaGateway:
        return jvm.launch_with_launcher(conf(None), scratch=scratch, java=java)

    if java is None or not is_quick:
        return slowly()
    quick = QUICK_START.either(lambda: find_quick_start(java), lambda: None)
    if quick is None:
        return slowly()
    return QUICK_START.either(
        lambda: launch_directly(conf(quick.archive), scratch=scratch, command=quick.command),
        slowly,
        raises=(),
    )


def launch_directly(conf: SparkConf, *, scratch: Path, command: tuple[str, ...]) -> JavaGateway:
    """Do what PySpark does, without its shell scripts and without the JVM that works out the command. The output is
    where `jvm.launch_with_launcher` puts it. Raises OSError if the JVM does not start."""
    from pyspark.serializers import UTF8Deserializer, read_int

    connection = scratch / "connection"
    settings = [part for key, value in conf.getAll() for part in ("--conf", f"{key}={value}")]
    environment = {
        **os.environ,
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
        # Spark's Python workers import from here; the shell scripts would set it.
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    options = [f"-Xmx{conf.get('spark.driver.memory')}"]
    options += shlex.split(conf.get("spark.driver.extraJavaOptions") or "")
    call = [*command, *options, SUBMIT, *settings, "pyspark-shell"]
    with (scratch / jvm.LOG).open("wb") as output:
        process = jvm.start(call, cwd=scratch, env=environment, stdout=output, stderr=output)
    try:
        with jvm.replaces_no_killed(process):
            _wait_for_connection(process, connection)
            with connection.open("rb") as file:
                port = str(read_int(file))  # type: ignore[no-untyped-call]
                secret = UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
            connection.unlink()
            return jvm.connect(process, port, secret)
    except Exception:
        jvm.kill(process)
        raise


def _wait_for_connection(process: subprocess.Popen[bytes], connection: Path) -> None:
    """Wait until the JVM has written its port and secret. Raises OSError if it ends or takes too long."""
    deadline = time.monotonic() + START_LIMIT
    while not connection.is_file():
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError(f"the JVM opened no connection (exit status {process.returncode})")
        time.sleep(0.01)


def launcher_command(java: Path) -> tuple[str, ...]:
    """The command line that Spark's launcher works out to start a JVM: the java program, class path and module
    options, without any settings and without the class.

    Raises RuntimeError with the launcher's output if it gives no command.
    """
    home = Path(pyspark.__file__).parent
    call = [str(java), "-cp", f"{home / 'jars'}/*", "org.apache.spark.launcher.Main", SUBMIT, "pyspark-shell"]
    (core,) = (home / "jars").glob("spark-core_*.jar")
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(java.resolve().parent.parent),
        "SPARK_SCALA_VERSION": core.name.split("_")[1].partition("-")[0],
    }
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=LAUNCHER_LIMIT)
    parts = [part.strip() for part in done.stdout.split("\0") if part.strip()]
    if done.returncode or SUBMIT not in parts:
        raise RuntimeError(
            f"Spark's launcher gave no command (exit status {done.returncode}): its output was "
            f"{json.dumps(done.stdout)}, its errors {done.stderr.strip()[-1000:]!r}"
        )
    command = parts[: parts.index(SUBMIT)]
    # The heap is a setting, and of two -Xmx the later one would win. Only linear algebra uses the vector module.
    return tuple(
        part for part in command if not part.startswith(("-Xmx", "--add-modules=jdk.incubator.vector"))
    )


def is_unavailable() -> bool:
    """Whether the quick start is switched off, or the environment configures Spark."""
    if is_plain() or os.environ.get(SWITCH, "").lower() in ("off", "0"):
        return True
    return bool(CONFIGURES & os.environ.keys()) or (Path(pyspark.__file__).parent / "conf").exists()


def folder_of(java: Path) -> Path:
    """This user's folder for that Java and this Spark."""
    parts = [REVISION, build_of(java), pyspark.__version__, pyspark.__file__]
    return user_cache() / "spark" / hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def digest_of_jars() -> str:
    """Digest of what the JVM compares of Spark's jars before it uses an archive: names, sizes and times of change."""
    files = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    parts = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
