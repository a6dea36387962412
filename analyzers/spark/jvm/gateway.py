"""The life of the JVM behind PySpark's class attributes: whether it runs, how it ended, and ending it.

PySpark keeps one JVM per process in ``SparkContext._gateway`` and never replaces it, also not when it has died. To
start another one, these attributes have to be cleared.
"""

from __future__ import annotations

import subprocess
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

END_LIMIT = 10.0
"""Seconds for the JVM to end before it is killed."""

OUT_OF_MEMORY = 52
"""Exit status of a Spark driver that ran out of memory."""


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
    None while it runs, and if there is none.
    """
    jvm = SparkContext._gateway
    if jvm is None:
        return None
    try:
        status = jvm.proc.wait(timeout=wait if _answers(jvm) else max(wait, 10))
    except subprocess.TimeoutExpired:
        return None
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    reason = "out of memory" if status == OUT_OF_MEMORY else f"exit status {status}"
    return f"the JVM of Spark ended ({reason})"


def _answers(jvm: JavaGateway) -> bool:
    try:
        jvm.jvm.java.lang.System.nanoTime()
    except (Py4JError, OSError):
        return False
    return True
