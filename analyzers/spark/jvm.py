"""The JVM that Spark runs in: started silently, quickly where that was prepared, and ended with the process."""

from __future__ import annotations

import atexit
import json
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
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int

SUBMIT = "org.apache.spark.deploy.SparkSubmit"
STARTS_WITHIN, ENDS_WITHIN = 120.0, 10.0
"""Seconds."""

_ENVIRONMENT = threading.Lock()


def start_jvm(
    conf: SparkConf, *, scratch: Path, java: Path | None, command: tuple[str, ...] | None = None
) -> JavaGateway:
    """Start a JVM with `conf` and connect to it.

    command  the java call that Spark's launcher worked out earlier, up to the class; without it the launcher
             is asked, a JVM of its own.
    The JVM greets its standard error with notes on modules and logging: those go into ``jvm.log`` in `scratch`.
    Raises RuntimeError with what the JVM said when it does not start.
    """
    log = scratch / "jvm.log"
    with log.open("wb") as output:
        try:
            if command is not None:
                return _start(command, conf, scratch=scratch, output=output)
            streams = {"stdout": output, "stderr": output}
            with _environment({} if java is None else {"JAVA_HOME": str(java.resolve().parent.parent)}):
                gateway: JavaGateway = launch_gateway(conf, {"cwd": scratch, **streams})  # type: ignore[no-untyped-call]
            return gateway
        except (PySparkRuntimeError, OSError) as error:
            said = log.read_text(errors="replace").strip()[-2000:] or "nothing"
            tried = java or os.environ.get("JAVA_HOME") or shutil.which("java") or "no java found"
            raise RuntimeError(
                f"Spark did not start (java: {tried}; heap: {conf.get('spark.driver.memory')}). "
                f"It needs a Java runtime, version 17 or later. The JVM said: {said}"
            ) from error


def end_jvm(jvm: JavaGateway, *, seconds: float = ENDS_WITHIN) -> None:
    """End the JVM and the Spark in it, killing it after so many seconds. May be called again.

    It ends when its standard input does; only then it writes no more into its scratch folder.
    """
    if jvm.proc.poll() is not None:
        return
    if SparkContext._gateway is jvm:
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()  # else its helper thread reports a lost connection
        SparkContext._gateway = SparkContext._jvm = None
    jvm.shutdown()
    jvm.proc.stdin.close()
    try:
        jvm.proc.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        jvm.proc.kill()
        jvm.proc.wait()


def _start(command: tuple[str, ...], conf: SparkConf, *, scratch: Path, output: Any) -> JavaGateway:
    """As `launch_gateway` does, without the shell scripts and without the JVM that only works out a command."""
    told = scratch / "connection"
    settings = [part for key, value in conf.getAll() for part in ("--conf", f"{key}={value}")]
    environment = {
        **os.environ,
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
        # From here its Python workers take what they import; the scripts would have said so.
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
    # Until it has told its port nobody else can end it: not `end_jvm`, nor the end of its standard input.
    atexit.register(_kill_at_exit, process)
    deadline = time.monotonic() + STARTS_WITHIN
    while not told.is_file():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise OSError(f"the JVM opened no connection (exit status {process.returncode})")
        time.sleep(0.01)
    with told.open("rb") as file:
        port = str(read_int(file))  # type: ignore[no-untyped-call]
        secret = UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
    told.unlink()
    with _environment({"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}):
        gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
    gateway.proc = process
    return gateway


def _kill_at_exit(process: subprocess.Popen[bytes]) -> None:
    """Runs after `end_jvm`, for the one that was registered last is called first. A second Ctrl-C changes nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if process.poll() is None:
        process.kill()
        process.wait()


def _ignore_interrupts() -> None:
    """A Ctrl-C is for the harness, which then ends the JVM in its turn."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Some things Spark takes from the environment alone."""
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


def java_command(java: Path) -> tuple[str, ...]:
    """What Spark's own launcher makes of a start: the java program, class path and module options, without settings.

    Raises RuntimeError with what the launcher said.
    """
    home = Path(pyspark.__file__).parent
    asked = [
        str(java),
        "-cp",
        f"{home / 'jars'}/*",
        "org.apache.spark.launcher.Main",
        SUBMIT,
        "pyspark-shell",
    ]
    (core,) = (home / "jars").glob("spark-core_*.jar")
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(java.resolve().parent.parent),
        "SPARK_SCALA_VERSION": core.name.split("_")[1].partition("-")[0],
    }
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=60)
    parts = [part.strip() for part in done.stdout.split("\0") if part.strip()]
    if done.returncode or SUBMIT not in parts:
        raise RuntimeError(
            f"Spark's launcher answered {json.dumps(done.stdout)}: {done.stderr.strip()[-1000:]}"
        )
    call = parts[: parts.index(SUBMIT)]
    # The heap is a setting, and of two the later one would hold. The vector module serves linear algebra alone.
    return tuple(part for part in call if not part.startswith(("-Xmx", "--add-modules=jdk.incubator.vector")))
