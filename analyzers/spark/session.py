"""The Spark session: embedded, on a cluster or remote; silent, fit for its size, and gone with the process."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from analyzers.spark.class_archive import QuickStart, find_quick_start
from analyzers.spark.jvm import end_jvm, start_jvm
from analyzers.spark.settings import (
    LARGE,
    Size,
    core_settings,
    is_connect,
    is_local,
    java_options,
    sql_settings,
)

PREFIX = "kafkacheck-spark-"
FOR_THE_LAUNCHER = {
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.defaultJavaOptions",
}
"""Settings that Spark's launcher turns into a command line: with one of them it is asked again."""

OUT_OF_MEMORY = 52
"""Spark's exit status then."""


def spark_session(
    *,
    master: str = "local[*]",
    app: str = "kafkacheck",
    heap: str = "2g",
    java: Path | None = None,
    conf: Mapping[str, str] | None = None,
    size: Size = "small",
) -> SparkSession:
    """Start Spark inside this process, or open a new session in the Spark that already runs in it.

    master  Spark's: ``local[*]`` (embedded), ``spark://host:7077``, ``yarn``, ``k8s://...``, or ``sc://host:15002``
            (Spark Connect, which needs the extra ``connect``).
    heap    of the driver's JVM (``2g``, ``512m``).
    java    path of a ``java`` executable, by default ``JAVA_HOME``'s or the first on ``PATH``.
    conf    any settings of Spark; they come last and replace ours.
    size    of what is to be judged: decides on the flags of the JVM and on the plans, see `fit` for these.
    Nothing is printed and nothing written into the working directory. Raises RuntimeError with what the JVM
    or the server said when there is no session.
    """
    conf = conf or {}
    sql = {
        **sql_settings(LARGE if size == "large" else None),
        **{key: value for key, value in conf.items() if key.startswith("spark.sql.")},
    }
    if is_connect(master):
        return _connected(master, app, {**sql, **conf})
    if SparkContext._active_spark_context is not None:
        session = SparkSession.builder.getOrCreate().newSession()
        for key, value in sql.items():
            if session.conf.isModifiable(key):
                session.conf.set(key, value)
        return session
    scratch = _scratch()
    java = java or _default_java()
    # The archive has the classes of an embedded Spark; a cluster's driver is started as its site has configured it.
    plain = is_local(master) and not FOR_THE_LAUNCHER & conf.keys()
    quick = find_quick_start(java) if java is not None and plain else None
    archive = quick.archive if quick is not None and size == "small" else None
    flags = " ".join(java_options(size, scratch=scratch, archive=archive))
    settings = core_settings(master, scratch=scratch, heap=heap) | sql | dict(conf)
    more = conf.get("spark.driver.extraJavaOptions", "")
    settings["spark.driver.extraJavaOptions"] = f"{flags} {more}".strip()
    spark_conf = (
        SparkConf(loadDefaults=False).setMaster(master).setAppName(app).setAll(list(settings.items()))
    )
    # The JVM outlives its contexts: after `stop` the next session starts in the one that is there.
    jvm = SparkContext._gateway
    if jvm is None:
        jvm = _start(spark_conf, scratch=scratch, java=java, quick=quick)
        atexit.register(end_jvm, jvm)
    return SparkSession(SparkContext(gateway=jvm, conf=spark_conf))


def _start(conf: SparkConf, *, scratch: Path, java: Path | None, quick: QuickStart | None) -> JavaGateway:
    if quick is not None:
        # What was prepared only saves time: should it fail, the long way tells why, or works.
        with contextlib.suppress(RuntimeError):
            return start_jvm(conf, scratch=scratch, java=java, command=quick.command)
    return start_jvm(conf, scratch=scratch, java=java)


def scratch_of(spark: SparkSession) -> str | None:
    """The folder that goes with the process, however that ends; None in a session that was not started here."""
    folder: str = spark.conf.get("spark.local.dir", "") or ""
    return folder if Path(folder).name.startswith(PREFIX) and Path(folder).is_dir() else None


def end() -> None:
    """End the Spark of this process with its JVM: the next session gets a new one, with flags of its own."""
    if SparkContext._gateway is not None:
        end_jvm(SparkContext._gateway)


def is_alive(session: SparkSession) -> bool:
    """Whether the JVM of an embedded session is there and serves. Of a remote one nothing is known: True."""
    context: Any = getattr(session, "_sc", None)  # Connect has none
    jvm = SparkContext._gateway
    if context is None:
        return True
    java = context._jsc
    if jvm is None or context is not SparkContext._active_spark_context:
        return False
    try:
        return jvm.proc.poll() is None and not java.sc().isStopped()
    except (Py4JError, OSError, AttributeError):
        return False


def cause_of_death(*, wait: float = 0) -> str | None:
    """How the embedded JVM ended; None while it runs. Forgets it, so that the next session starts another.

    wait  seconds that a JVM known to be dying is given: it still answers for some time.
    """
    jvm = SparkContext._gateway
    if jvm is None:
        return None
    try:
        status = jvm.proc.wait(timeout=wait if _serves(jvm) else max(wait, 10))
    except subprocess.TimeoutExpired:
        return None
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    why = "out of memory" if status == OUT_OF_MEMORY else f"exit status {status}"
    return f"the JVM of Spark ended ({why})"


def _serves(jvm: JavaGateway) -> bool:
    try:
        jvm.jvm.java.lang.System.nanoTime()
    except (Py4JError, OSError):
        return False
    return True


def fit(spark: SparkSession, rows: int, *, conf: Mapping[str, str] | None = None) -> None:
    """Set what depends on the number of records, except what `conf` says otherwise."""
    for key, value in sql_settings(rows).items():
        if key not in (conf or {}):
            spark.conf.set(key, value)


def _connected(master: str, app: str, conf: Mapping[str, str]) -> SparkSession:
    """A session of a Spark Connect server: settings that only a start takes are the server's own affair."""
    try:
        session: SparkSession = SparkSession.builder.remote(master).appName(app).create()
    except ImportError as error:
        raise RuntimeError(
            f"Spark Connect ({master}) needs more packages: {error}. Install pytest-kafkacheck[connect]"
        ) from error
    for key, value in conf.items():
        session.conf.set(key, value)
    return session


def _default_java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    return None if found is None else Path(found)


def _scratch() -> Path:
    """A new folder, locked for as long as this process lives; those of processes that were killed are removed."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    for each in folder.parent.glob(f"{PREFIX}*/lock"):
        with contextlib.suppress(OSError), each.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(each.parent, ignore_errors=True)
    # Never closed: the lock lasts as long as the process. It has its name only when it is held.
    fcntl.flock(os.open(folder / "locking", os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
    (folder / "locking").rename(folder / "lock")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
