"""The embedded Spark session: silent, small, and gone with the process."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

# A history is joined and grouped on (run, topic, partition) over and over. Fewer partitions than
# Spark's 200 and a plan fixed up front halve the time of a small history and cost a large one nothing.
SQL_SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
}

PREFIX = "kafkacheck-spark-"

OUT_OF_MEMORY = 52
"""Spark's exit status then."""


def spark_session(
    *, master: str = "local[*]", app: str = "kafkacheck", heap: str = "2g", java: Path | None = None
) -> SparkSession:
    """Start Spark inside this process, or open a new session in the Spark that already runs in it.

    `heap` is the JVM's (``2g``, ``512m``); `java` the path of a ``java`` executable, by default
    ``JAVA_HOME``'s or the first on ``PATH``. Nothing is printed and nothing written into the working
    directory. Raises RuntimeError with what the JVM said when it does not start.
    """
    running = SparkContext._active_spark_context
    if running is not None:
        session = SparkSession.builder.getOrCreate().newSession()
        for key, value in SQL_SETTINGS.items():
            session.conf.set(key, value)
        return session
    scratch = _scratch()
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName(app).setAll(_settings(scratch, heap))
    for key, value in SQL_SETTINGS.items():
        conf.set(key, value)
    # The JVM outlives its contexts: after `stop` the next session starts in the one that is there.
    jvm = SparkContext._gateway
    if jvm is None:
        jvm = _start_jvm(conf, scratch=scratch, java=java)
        atexit.register(_end_jvm, jvm)
    return SparkSession(SparkContext(gateway=jvm, conf=conf))


def warm(spark: SparkSession) -> None:
    """Judge a tiny history that holds one of everything, so that the first real verdict is quick."""
    # Here and not above: whoever only wants a session need not load the analysis.
    from analyzers.rehearsal import rehearse

    rehearse(spark)


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


def _settings(scratch: Path, heap: str) -> list[tuple[str, str]]:
    return [
        ("spark.driver.memory", heap),
        ("spark.driver.extraJavaOptions", f"-Djava.io.tmpdir={scratch}"),
        ("spark.driver.host", "127.0.0.1"),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.ui.enabled", "false"),
        ("spark.ui.showConsoleProgress", "false"),
        ("spark.log.level", "ERROR"),
        ("spark.local.dir", str(scratch)),
        # One analysis has some hundred generated classes; what falls out of the cache is compiled again.
        ("spark.sql.codegen.cache.maxEntries", "2000"),
        ("spark.sql.warehouse.dir", str(scratch / "warehouse")),
    ]


def _start_jvm(conf: SparkConf, *, scratch: Path, java: Path | None) -> JavaGateway:
    """The JVM greets its standard error with notes on modules and logging: those go into a file."""
    log = scratch / "jvm.log"
    with log.open("wb") as output, _java_home(java):
        try:
            streams = {"stdout": output, "stderr": output}
            jvm: JavaGateway = launch_gateway(conf, {"cwd": scratch, **streams})  # type: ignore[no-untyped-call]
        except (PySparkRuntimeError, OSError) as error:
            said = log.read_text(errors="replace").strip()[-2000:] or "nothing"
            tried = java or os.environ.get("JAVA_HOME") or shutil.which("java") or "no java found"
            raise RuntimeError(
                f"Spark did not start (java: {tried}; heap: {conf.get('spark.driver.memory')}). "
                f"It needs a Java runtime, version 17 or later. The JVM said: {said}"
            ) from error
    return jvm


def _end_jvm(jvm: JavaGateway) -> None:
    """The JVM ends when its standard input does; only then it writes no more into its scratch folder."""
    if jvm.proc.poll() is not None:
        return
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()  # else its helper thread reports a lost connection
    jvm.shutdown()
    jvm.proc.stdin.close()
    try:
        jvm.proc.wait(timeout=10)
    except subprocess.TimeoutExpired:
        jvm.proc.kill()
        jvm.proc.wait()


@contextmanager
def _java_home(java: Path | None) -> Iterator[None]:
    """Spark's launcher takes the runtime from JAVA_HOME alone."""
    if java is None:
        yield
        return
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java.resolve().parent.parent)
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
