"""The JVM of this process: starting it without output on the terminal, and its life.

PySpark keeps one JVM per process in ``SparkContext._gateway`` and never replaces it, also not when it has died. To
start another one, these attributes have to be cleared.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from analyzers.spark.environment import has_jvm
from analyzers.spark.internals.shortcut import Shortcut

OWN_JVM = Shortcut("a JVM that prints nothing")
"""The plain way starts Spark as any program does. Its notes then appear on the terminal."""

LOG = "jvm.log"
"""The output of the JVM, in its scratch folder."""

END_LIMIT = 10.0
"""Seconds for the JVM to end before it is killed."""

OUT_OF_MEMORY = (3, 52)
"""Exit statuses of a JVM that ran out of memory: Java's with ``-XX:+ExitOnOutOfMemoryError``, and Spark's."""

_ENVIRONMENT = threading.Lock()

_started: list[subprocess.Popen[bytes]] = []
"""The JVMs of this process."""

_killed: set[int] = set()
"""Ids of those that were killed here."""


class NotStarted(RuntimeError):
    """The JVM did not start; the message has its output."""


def open_spark(
    conf: SparkConf, *, scratch: Path, java: Path | None, launch: Callable[[], JavaGateway]
) -> SparkSession:
    """Start a Spark application, in the JVM of this process if there is one, else in the one that `launch` starts."""

    def quick() -> SparkSession:
        jvm = current_jvm()
        if jvm is None:
            jvm = launch()
            atexit.register(end_jvm, jvm)
        try:
            with replaces_no_killed(jvm.proc):
                return open_session(jvm, conf)
        except Exception:
            if current_jvm() is not jvm:  # PySpark will not use it either
                end_jvm(jvm)
            raise

    def plain() -> SparkSession:
        with _environment(_home(java)), _explained(conf, java, scratch / LOG):
            session = SparkSession.builder.config(conf=conf).getOrCreate()
        if (jvm := current_jvm()) is not None:
            atexit.register(end_jvm, jvm)
        return session

    return OWN_JVM.either(quick, plain, raises=(NotStarted,))


def open_session(jvm: JavaGateway, conf: SparkConf) -> SparkSession:
    """Start a Spark application in the JVM."""
    return SparkSession(SparkContext(gateway=jvm, conf=conf))


def launch_with_launcher(conf: SparkConf, *, scratch: Path, java: Path | None) -> JavaGateway:
    """Start a JVM with `conf` by Spark's launcher and connect to it. The launcher takes a second JVM to work out the
    command. The JVM's output (notes on modules and logging) goes into `LOG` in `scratch`. Raises NotStarted."""
    from pyspark.java_gateway import launch_gateway

    log = scratch / LOG
    with log.open("wb") as output, _environment(_home(java)), _explained(conf, java, log):
        gateway: JavaGateway = launch_gateway(  # type: ignore[no-untyped-call]
            conf, {"cwd": scratch, "stdout": output, "stderr": output}
        )
    return gateway


def connect(process: subprocess.Popen[bytes], port: str, secret: str) -> JavaGateway:
    """Connect to a JVM that was started here."""
    from pyspark.java_gateway import launch_gateway

    with _environment({"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}):
        gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
    gateway.proc = process
    return gateway


def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a JVM that ends with this process, also if it has not opened its connection by then."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=_ignore_interrupts, **options)
    # Until the JVM has opened its connection, neither `end_jvm` nor the end of its standard input can end it.
    atexit.register(_kill_at_exit, process)
    _started.append(process)
    return process


@contextmanager
def replaces_no_killed(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End this thread, in place of an error of the block, if the JVM was killed here: the program is about to end,
    and the next way to start Spark would start another JVM."""
    try:
        yield
    except Exception:
        if process.pid in _killed:
            raise SystemExit from None
        raise


def kill_started() -> None:
    """Kill the JVMs that were started here, also one that has no connection yet."""
    for process in _started:
        kill(process)
    if (jvm := current_jvm()) is not None:
        kill(jvm.proc)


def kill(process: subprocess.Popen[bytes]) -> None:
    """`replaces_no_killed` knows of it."""
    if process.poll() is None:
        _killed.add(process.pid)
        process.kill()
        process.wait()


def _kill_at_exit(process: subprocess.Popen[bytes]) -> None:
    """Kill the JVM if `end_jvm` did not end it. Exit functions run in reverse order, so `end_jvm` runs first."""
    # A second Ctrl-C must not interrupt this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kill(process)


def _ignore_interrupts() -> None:
    """A Ctrl-C is for the harness, which then ends the JVM itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def current_jvm() -> JavaGateway | None:
    """The JVM of this process; it may have died. None also if PySpark does not tell."""
    return getattr(SparkContext, "_gateway", None)


def has_context() -> bool:
    """Whether a Spark application runs in this process."""
    return getattr(SparkContext, "_active_spark_context", None) is not None


def end_jvm(jvm: JavaGateway, *, seconds: float = END_LIMIT) -> None:
    """End the JVM and the Spark in it; kill it after `seconds`. May be called again.

    The JVM ends when its standard input does. Only then does it stop writing into its scratch folder.
    """
    if jvm.proc.poll() is not None:
        return
    if current_jvm() is jvm:
        if (context := getattr(SparkContext, "_active_spark_context", None)) is not None:
            # Otherwise its helper thread reports a lost connection.
            context.stop()
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
    if not has_jvm(session):
        return True
    context, jvm = session.sparkContext, current_jvm()
    if getattr(SparkContext, "_active_spark_context", context) is not context:
        return False
    if jvm is not None and jvm.proc.poll() is not None:
        return False
    try:
        return context.defaultParallelism > 0  # raises an error if Spark has stopped
    except (Py4JError, OSError, AttributeError):
        return False


def forget_dead_jvm(*, wait: float = 0) -> str | None:
    """If the embedded JVM has ended, forget it, so that the next session starts another one. Returns how it ended.

    wait  seconds to wait for its end; a JVM that no longer answers gets at least 10.
    None while it runs, and if there is none. A JVM whose Spark has stopped by itself is ended: it can run no job.
    """
    jvm = current_jvm()
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
    context = getattr(SparkContext, "_active_spark_context", None)
    try:
        return context is not None and not context.defaultParallelism
    except Py4JJavaError:
        return True
    except (Py4JError, OSError, AttributeError):
        return False


def _last_error() -> str:
    """The last error in the log of the JVM, with the line after it: the exception."""
    lines: list[str] = []
    with suppress(AttributeError, OSError, Py4JError):
        folder = SparkContext._active_spark_context.getConf().get("spark.local.dir", "")  # type: ignore[union-attr]
        lines = (Path(folder) / LOG).read_text(errors="replace").splitlines()
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


def _home(java: Path | None) -> Mapping[str, str]:
    return {} if java is None else {"JAVA_HOME": str(java.resolve().parent.parent)}


@contextmanager
def _explained(conf: SparkConf, java: Path | None, log: Path) -> Iterator[None]:
    try:
        yield
    except (PySparkRuntimeError, OSError) as error:
        written = without_frames(log.read_text(errors="replace")) if log.is_file() else ""
        tried = java or os.environ.get("JAVA_HOME") or shutil.which("java") or "no java found"
        raise NotStarted(
            f"Spark did not start (java: {tried}; heap: {conf.get('spark.driver.memory')}). "
            f"It needs a Java runtime, version 17 or later. Output of the JVM: {written[-2000:] or 'nothing'}"
        ) from error


def without_frames(output: str) -> str:
    """What a JVM wrote, without the frames of its stack traces: they are longer than the errors above them."""
    return "\n".join(line for line in output.splitlines() if not line.startswith(("\tat ", "\t... "))).strip()


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a moment: PySpark takes some values from nowhere else."""
    with _ENVIRONMENT:
        before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
