"""A standalone Spark cluster on this machine, from the PySpark wheel: a master and workers in JVMs of their own."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from nemesis.tasks import wait_until

HOME = Path(pyspark.__file__).parent
UP_WITHIN = 90.0
"""s. A machine with many other tests is slow."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def daemon(
    folder: Path, name: str, *arguments: str, port: int | None = None, heap: str = "128m"
) -> Iterator[None]:
    """Run one of Spark's own programs during the block. It is ready when it listens at `port`."""
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_DAEMON_MEMORY": heap}
    environment["SPARK_DAEMON_JAVA_OPTS"] = "-XX:TieredStopAtLevel=1"
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [HOME / "bin" / "spark-class", *arguments],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            if port is not None:
                await_listening(process, port, folder / f"{name}.log")
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def await_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    def listens() -> bool:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    assert wait_until(listens, limit=UP_WITHIN), log.read_text()[-3000:]


@contextmanager
def standalone(folder: Path, *, workers: int) -> Iterator[str]:
    """The URL of the master. Each worker has one core, and a folder ``worker-N``."""
    port = free_port()
    local = ("--host", "127.0.0.1", "--webui-port", "0")
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        program = "org.apache.spark.deploy.master.Master"
        stack.enter_context(daemon(folder, "master", program, *local, "--port", str(port), port=port))
        for name in (f"worker-{i}" for i in range(workers)):
            place = ("--work-dir", str(folder / name), "--cores", "1", "--memory", "600m")
            worker = ("org.apache.spark.deploy.worker.Worker", *local, *place, master)
            stack.enter_context(daemon(folder, name, *worker))
        yield master


def executor_settings(workers: int) -> dict[str, str]:
    """Settings for an application that waits for an executor on each worker."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.cores.max": str(workers),
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    }
