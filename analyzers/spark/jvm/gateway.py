"""The life of the JVM behind PySpark's class attributes: whether it runs, how it ended, and ending it.

PySpark keeps one JVM per process in ``SparkContext._gateway`` and never replaces it, also not when it has died. To
start another one, these attributes have to be cleared.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

LOG = "jvm.log"
"""The output of the JVM, in its scratch folder."""

END_LIMIT = 10.0
"""Seconds for the JVM to end before it is killed."""

OUT_OF_MEMORY = (3, 52)
"""Exit statuses of a JVM that ran out of memory: Java's with ``-XX:+ExitOnOutOfMemoryError``, and Spark's."""


def current_jvm() -> JavaGateway | None:
    """The JVM of this process; it may have died."""
    return SparkContext._gateway


def has_context() -> bool:
    """Whether a Spark application runs in this process."""
    return SparkContext._active_spark_context is not None


def open_session(jvm: JavaGateway, conf: SparkConf) -> SparkSession:
    """Start a Spark application in the JVM."""
    return SparkSession(SparkContext(gateway=jvm, conf=conf))


def end_jvm(jvm: JavaGateway, *, seconds: float = END_LIMIT) -> None:
    """End the JVM and the Spark in it; kill it after `seconds`. May be called again.

    The JVM ends when its standard input does. Only then does it stop writing into its scratch folder.
    """
    if jvm.proc.poll() is not None:
        return
    if SparkContext._gateway is jvm:
        if SparkContext._active_spark_context is not None:
            # Otherwise its helper thread reports a lost connection.
            SparkContext._active_spark_context.stop()
        SparkContext._gateway = SparkContext._jvm = None
    jvm.shutdown()
    jvm.proc.stdin.close()
    try:
        jvm.proc.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        jvm.proc.kill()
        jvm.proc.wait()


def is_alive(session: SparkSession) -> bool:
    """Whether the JVM of an embedded session runs and answers. A remote server is not asked: True."""
    context: Any = getattr(session, "_sc", None)
    if context is None:  # a session of Spark Connect
        return True
    java, jvm = context._jsc, SparkContext._gateway
    if jvm is None or context is not SparkContext._active_spark_context:
        return False
    try:
        return jvm.proc.poll() is None and not java.sc().isStopped()
    except (Py4JError, OSError, AttributeError):
        return False


def forget_dead_jvm(*, wait: float = 0) -> str | None:
    """If the embedded JVM has ended, forget it, so that the next session starts another one. Returns how it ended.

    wait  seconds to wait for its end; a JVM that no longer answers gets at least 10.
    None while it runs, and if there is none. A JVM whose Spark has stopped by itself is ended: it can run no job.
    """
    jvm = SparkContext._gateway
    if jvm is None:
        return None
    try:
        status = jvm.proc.wait(timeout=wait if _answers(jvm) else max(wait, 10))
    except subprocess.TimeoutExpired:
        if not _has_stopped_by_itself():
            return None
        reason = f"Spark had stopped itself in it: {_last_error()}"
        end_jvm(jvm)
    else:
        reason = "out of memory" if status in OUT_OF_MEMORY else f"exit status {status}"
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    return f"the JVM of Spark ended ({reason})"


def _has_stopped_by_itself() -> bool:
    """Whether Spark has stopped in a JVM that answers, and not by a call of `stop` in this process. An error in one
    of its own threads has this effect."""
    context: Any = SparkContext._active_spark_context
    try:
        return context is not None and bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):
        return False


def _last_error() -> str:
    """The last error in the log of the JVM, with the line after it: the exception."""
    context: Any = SparkContext._active_spark_context
    log = Path(context._conf.get("spark.local.dir", "")) / LOG
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    errors = [number for number, line in enumerate(lines) if " ERROR " in line]
    if not errors:
        return "its log says no reason"
    return " ".join(line.partition(" ERROR ")[2] or line for line in lines[errors[-1] :][:2])


def _answers(jvm: JavaGateway) -> bool:
    try:
        jvm.jvm.java.lang.System.nanoTime()
    except (Py4JError, OSError):
        return False
    return True
