"""Starting the driver's JVM: directly with a prepared command, or through Spark's own launcher."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int

from analyzers.spark.jvm.gateway import LOG
from analyzers.spark.jvm.launcher_command import SUBMIT

START_LIMIT = 120.0
"""Seconds for the JVM to open its connection."""

_ENVIRONMENT = threading.Lock()

_started: list[subprocess.Popen[bytes]] = []
"""The JVMs of this process."""

_killed: set[int] = set()
"""Ids of those that were killed here."""


def launch_jvm(
    conf: SparkConf, *, scratch: Path, java: Path | None, command: tuple[str, ...] | None = None
) -> JavaGateway:
    """Start a JVM with `conf` and connect to it.

    command  what `launcher_command` returned earlier; without it Spark's launcher starts the JVM, which
             takes a second JVM to work out the command.
    The JVM's output (notes on modules and logging) goes into ``jvm.log`` in `scratch`.
    Raises RuntimeError with that output if it does not start.
    """
    log = scratch / LOG
    with log.open("wb") as output:
        try:
            if command is not None:
                return _launch_directly(command, conf, scratch=scratch, output=output)
            return _launch_with_launcher(conf, scratch=scratch, java=java, output=output)
        except (PySparkRuntimeError, OSError) as error:
            written = log.read_text(errors="replace").strip()[-2000:] or "nothing"
            tried = java or os.environ.get("JAVA_HOME") or shutil.which("java") or "no java found"
            raise RuntimeError(
                f"Spark did not start (java: {tried}; heap: {conf.get('spark.driver.memory')}). "
                f"It needs a Java runtime, version 17 or later. Output of the JVM: {written}"
            ) from error


def _launch_with_launcher(conf: SparkConf, *, scratch: Path, java: Path | None, output: Any) -> JavaGateway:
    home = {} if java is None else {"JAVA_HOME": str(java.resolve().parent.parent)}
    with _environment(home):
        gateway: JavaGateway = launch_gateway(  # type: ignore[no-untyped-call]
            conf, {"cwd": scratch, "stdout": output, "stderr": output}
        )
    return gateway


def _launch_directly(command: tuple[str, ...], conf: SparkConf, *, scratch: Path, output: Any) -> JavaGateway:
    """Do what `launch_gateway` does, without its shell scripts and without the JVM that works out the command."""
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
    process = subprocess.Popen(
        [*command, *options, SUBMIT, *settings, "pyspark-shell"],
        cwd=scratch,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        preexec_fn=_ignore_interrupts,
    )
    # Until the JVM has opened its connection, neither `end_jvm` nor the end of its standard input can end it.
    atexit.register(_kill_at_exit, process)
    _started.append(process)
    _wait_for_connection(process, connection)
    with connection.open("rb") as file:
        port = str(read_int(file))  # type: ignore[no-untyped-call]
        secret = UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
    connection.unlink()
    with _environment({"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}):
        gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
    gateway.proc = process
    return gateway


def _wait_for_connection(process: subprocess.Popen[bytes], connection: Path) -> None:
    """Wait until the JVM has written its port and secret. Raises OSError if it ends or takes too long."""
    deadline = time.monotonic() + START_LIMIT
    while not connection.is_file():
        if process.pid in _killed:
            raise SystemExit  # ends this thread, which would start another JVM in place of the killed one
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise OSError(f"the JVM opened no connection (exit status {process.returncode})")
        time.sleep(0.01)


def _kill_at_exit(process: subprocess.Popen[bytes]) -> None:
    """Kill the JVM if `end_jvm` did not end it. Exit functions run in reverse order, so `end_jvm` runs first."""
    # A second Ctrl-C must not interrupt this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _kill(process)


def kill_started() -> None:
    """Kill the JVMs that were started here, also one that has no connection yet."""
    for process in _started:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _killed.add(process.pid)
        process.kill()
        process.wait()


def _ignore_interrupts() -> None:
    """A Ctrl-C is for the harness, which then ends the JVM itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
